"""Nodes whose event loop is blocked by an async task, as real processes: `python -m
harness.crash.blocked DATABASE LEDGER LEASE BLOCK TIMEOUT` is one of them."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from harness.crash.kills import wait_for
from quarterjack import Context, Quarterjack

TESTS = Path(__file__).parents[2]


class BlockedNodes:
    """Two nodes on one database. The first attempt of their one run blocks its event loop."""

    def __init__(self, url: str, folder: Path, lease: float, block: float, timeout: str) -> None:
        self._folder = folder
        self._ledger = folder / "ledger"
        self._ledger.touch()
        self._arguments = [url, str(self._ledger), f"{lease:g}s", str(block), timeout]
        self._app = Quarterjack(database=url)
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, seconds: float) -> dict[str, Any]:
        """The run, once it has ended and both nodes are stopped."""
        command = [sys.executable, "-m", "harness.crash.blocked", *self._arguments]
        for number in range(2):
            with self._log(number).open("wb") as log:
                path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
                environment = {**os.environ, "PYTHONPATH": path}
                started = subprocess.Popen(command, stderr=log, env=environment)
            self.processes.append(started)
            wait_for(lambda: " up " in self._log(number).read_text(), 30, "it is up")  # noqa: B023
        self._app.run_now("block")
        ended = lambda: [each for each in self._app.runs() if each["finished_at"]]  # noqa: E731
        (run,) = wait_for(ended, seconds, "the run ends")
        wait_for(lambda: len(self.ends()) == len(self.starts()), seconds, "all attempts end")
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(20) for process in self.processes] == [0, 0]
        return dict(run)

    def starts(self) -> list[str]:
        """The pids of the processes in which an attempt has started."""
        return self._lines("start")

    def ends(self) -> list[str]:
        return self._lines("end")

    def _lines(self, what: str) -> list[str]:
        lines = [line.split() for line in self._ledger.read_text().splitlines()]
        return [pid for event, pid in lines if event == what]

    def log_of(self, pid: str) -> str:
        pids = [str(process.pid) for process in self.processes]
        return self._log(pids.index(pid)).read_text()

    def _log(self, number: int) -> Path:
        return self._folder / f"log{number}"

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def run_node(url: str, ledger: str, lease: str, block: float, timeout: str) -> None:
    """Until SIGTERM."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    app = Quarterjack(database=url, name="blocked", lease=lease)

    @app.task
    async def work() -> None:
        note("start")
        try:
            if Context.current().attempt == 1:
                time.sleep(block)  # a mistake: it blocks the event loop
        finally:
            note("end")

    def note(what: str) -> None:
        with Path(ledger).open("a") as lines:
            lines.write(f"{what} {os.getpid()}\n")

    app.schedule("block", work, {"every": "24h"}, timeout=timeout, max_retries=0)
    app.start()
    signal.sigwait({signal.SIGTERM})
    app.stop()


if __name__ == "__main__":
    database, ledger_file, its_lease, its_block, its_timeout = sys.argv[1:]
    run_node(database, ledger_file, its_lease, float(its_block), its_timeout)
