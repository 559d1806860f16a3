"""What the fourth seed describes: callbacks in code, on host-local POSIX cron."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import PROGRAM, wait_for

pytestmark = pytest.mark.unmeasured
BACKEND = """
import logging, pathlib, sys, time
from quarterjack import Context, Quarterjack
from quarterjack.errors import Conflict

logging.basicConfig(level=logging.INFO)
app = Quarterjack("sqlite:///state.db", preset="posix", name="backend", lease="1s")

def write(what):
    with open("ledger.txt", "a") as ledger:
        ledger.write(what + "\\n")

def wait_for(name):
    for _ in range(3000):
        if pathlib.Path(name).exists():
            return
        time.sleep(0.02)

@app.cron("THIS_MINUTE")
def matches(): write("matches")

@app.cron("OTHER_MONTH")
def matches_seldom(): write("matches_seldom")

@app.cron("THIS_MINUTE", retry_delay="RETRY_DELAY")
def fails_twice(context: Context):
    write(f"fails_twice {context.attempt}")
    if context.attempt < 3:
        raise OSError("not yet")

@app.cron("THIS_MINUTE")
def slow():
    write("slow starts")
    wait_for("go")
    write("slow ends")
"""
REMOVABLE = """
@app.cron("THIS_MINUTE")
async def removed_later(): write("removed_later")
"""
LIFE = """
if __name__ == "__main__":
    app.start()
    try:
        app.start()
    except Conflict as error:
        write(f"second start: {error}")
    try:
        app.every("1h")
    except Conflict as error:
        write(f"declared late: {error}")
    write("started")
    sys.stdin.readline()
    app.stop()
    app.stop()
    write("stopped")
"""


class Backend:
    """A program that is started again and again in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        wait_for(lambda: time.localtime().tm_sec < 45, 20, "a minute that lasts")
        now = time.localtime()
        at = f"{now.tm_min} {now.tm_hour}"
        self.crons = {
            "THIS_MINUTE": f"{at} * * *",
            "OTHER_MONTH": f"{at} * {now.tm_mon % 12 + 1} *",
        }

    def start(self, text: str) -> subprocess.Popen[bytes]:
        """Returns once it has started."""
        count = self.ledger().count("started")
        for word, cron in self.crons.items():
            text = text.replace(word, cron)
        (self.folder / "backend.py").write_text(text + LIFE)
        log = (self.folder / f"log{len(self.processes)}.txt").open("wb")
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("QUARTERJACK_DATABASE_URL", None)
        with log:
            process = subprocess.Popen(
                [sys.executable, "backend.py"],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stderr=log,
            )
        self.processes.append(process)
        wait_for(lambda: self.ledger().count("started") > count, 30, "it has started")
        return process

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        process.communicate(b"\n", timeout=30)
        assert process.returncode == 0, self.log()

    def end(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def ledger(self) -> list[str]:
        file = self.folder / "ledger.txt"
        return file.read_text().splitlines() if file.exists() else []

    def log(self) -> str:
        """Of the last start."""
        return (self.folder / f"log{len(self.processes) - 1}.txt").read_text()

    def json(self, *arguments: str) -> Any:
        command = [*PROGRAM, *arguments, "--json", "--database", "sqlite:///state.db"]
        return json.loads(subprocess.check_output(command, cwd=self.folder))

    def wait_for(self, line: str, times: int = 1) -> None:
        wait_for(lambda: self.ledger().count(line) >= times, 30, f"{line} in {self.ledger()}")


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[Backend]:
    backend = Backend(tmp_path)
    yield backend
    backend.end()


@pytest.mark.mission("V1", "V2", "V3", "V6", "V7", "V10", "V11")
def test_the_fourth_seeds_backend_starts_stops_adapts_and_recovers(backend: Backend):
    before = (BACKEND + REMOVABLE).replace("RETRY_DELAY", "200ms")
    process = backend.start(before)
    # The first start ever runs what matches this minute, while another schedule is running.
    for line in ("slow starts", "matches", "removed_later", "fails_twice 3"):
        backend.wait_for(line)
    assert "matches_seldom" not in backend.ledger()
    assert "slow ends" not in backend.ledger()
    assert "second start: it was started already; stop() it first" in backend.ledger()
    assert any(line.startswith("declared late: ") for line in backend.ledger())

    process.kill()  # in the middle of `slow`
    process.wait(30)
    process = backend.start(BACKEND.replace("RETRY_DELAY", "300ms"))
    backend.wait_for("slow starts", times=2)
    (backend.folder / "go").touch()
    backend.wait_for("slow ends")
    backend.stop(process)

    assert backend.ledger()[-1] == "stopped"
    log = backend.log()
    assert "schedule removed schedule=removed_later" in log
    assert "schedule changed schedule=fails_twice field=retry_delay old=200ms new=300ms" in log
    assert log.count("schedule changed") == 1
    kept = backend.json("runs", "list", "fails_twice")["items"][-1]
    assert (kept["state"], kept["attempt"]) == ("succeeded", 3), "history is kept"
    again = backend.json("runs", "list", "slow")["items"][-1]
    assert (again["state"], again["attempt"]) == ("succeeded", 2)
    stored = (backend.folder / "state.db").read_bytes()
    assert b"not yet" in stored
    assert b"slow starts" not in stored, "callbacks are not stored"


@pytest.mark.mission("V1")
def test_a_stop_waits_for_running_work(backend: Backend):
    process = backend.start(BACKEND.replace("RETRY_DELAY", "1m"))
    backend.wait_for("slow starts")

    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    (backend.folder / "go").touch()
    process.wait(30)

    assert backend.ledger()[-2:] == ["slow ends", "stopped"]
    assert backend.json("runs", "list", "slow")["items"][0]["state"] == "succeeded"
