"""Real processes that are killed, and a check of their history against a ledger.

The commands themselves write the ledger. `make crash` kills a process at the first hits of every
failpoint, once and again while it recovers, and then at random instants.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from quarterjack.times.instants import SECOND, read_instant

PROGRAM = [sys.executable, "-m", "quarterjack"]
LEDGER = Path(__file__).with_name("ledger.py")
TICK = 0.02
LOST_ATTEMPTS_MAX = 5
"""After so many lost attempts a run is lost; random kills can cause that."""
FAILPOINTS = {
    "plan.read": "S1",
    "plan.begun": "S2",
    "plan.inserted": "S3",
    "plan.advanced": "S4",
    "plan_due.committing": "S5",
    "plan_due.committed": "S6",
    "claim.written": "S7",
    "claim_runs.committing": "S8",
    "claim_runs.committed": "S9",
    "launch.before": "S9",
    "launch.after": "S9",
    "renew_leases.committed": "S11",
    "attempt.ended": "S12",
    "output.written": "S13",
    "settle.written": "S14",
    "settle_runs.committing": "S15",
    "settle_runs.committed": "S16",
    "notifications.delivered": "S16",
    "prune.written": "S17",
}
"""By their step in the life of a run. S10 does not exist: no process id is stored, because the
supervisor needs none."""


class Line(NamedTuple):
    what: str
    run: str
    key: str
    slot: int
    attempt: int
    pid: int
    wall: int


def wait_for(condition: Callable[[], Any], seconds: float, what: str) -> Any:
    """Returns its first true value."""
    for _ in range(int(seconds / TICK)):
        if found := condition():
            return found
        time.sleep(TICK)
    raise AssertionError(f"timed out after {seconds} s: {what}")


class RealService:
    """A folder with a database, a declaration and a ledger, and any number of processes on it."""

    def __init__(self, folder: Path, **schedules: dict[str, Any]) -> None:
        self.folder = folder
        self.database = folder / "quarterjack.db"
        self.ledger = folder / "ledger.jsonl"
        self.processes: list[subprocess.Popen[bytes]] = []
        self.stopped_at = 0
        self.source = "quarterjack.yaml"
        """What its processes are given; a program is `module:app`."""
        self.environment: dict[str, str] = {}
        declared = schedules or {
            "steady": {"every": "1s", "command": self.work(0)},
            "slow": {"every": "2s", "command": self.work(0.7)},
            "once only": {
                "every": "1s",
                "command": self.work(0),
                "execution": "at_most_once",
            },
            "failing": {"every": "2s", "command": self.work(0, code=3)},
        }
        policies = {"catch_up": "run_all", "if_running": "queue"}
        self.declared = {key: policies | fields for key, fields in declared.items()}
        self.declare(self.declared)

    def declare(self, schedules: dict[str, Any], **settings: Any) -> None:
        declaration = {"lease": "1s", "grace": "3s", **settings, "schedules": schedules}
        (self.folder / "quarterjack.yaml").write_text(json.dumps(declaration))  # YAML reads JSON

    def work(self, seconds: float, code: int = 0) -> list[str]:
        """A command that writes the ledger."""
        return [sys.executable, "-S", "-E", str(LEDGER), str(self.ledger), str(seconds), str(code)]

    def start(
        self,
        crash_at: str = "",
        what: Sequence[str] = ("up",),
        program: Sequence[str] = PROGRAM,
    ) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "QUARTERJACK_CRASH_AT": crash_at, **self.environment}
        command = [*program, what[0], self.source, "--port", "0", *what[1:]]
        with self.log_of(len(self.processes)).open("ab") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=log)
        self.processes.append(process)
        return process

    def up(self, *what: str, **words: Any) -> subprocess.Popen[bytes]:
        """Returns once it has started."""
        log = self.log_of(len(self.processes))
        process = self.start(what=what or ("up",), **words)
        wait_for(lambda: process.poll() or " up " in log.read_text(), 20, "it has started")
        assert process.poll() is None, log.read_text()[-2000:]
        return process

    def stop(self, process: subprocess.Popen[bytes], seconds: float = 15) -> None:
        self.stopped_at = time.time_ns() // 1000
        process.terminate()
        assert process.wait(seconds) == 0, self.log()[-2000:]

    def freeze(self, process: subprocess.Popen[bytes]) -> None:
        """Suspended, but not within a transaction, which would block all other processes."""

        def is_frozen() -> bool:
            process.send_signal(signal.SIGSTOP)
            connection = apsw.Connection(str(self.database))
            connection.set_busy_timeout(300)  # the other process may be writing
            try:
                connection.execute("begin immediate")
                connection.execute("rollback")
            except apsw.BusyError:
                process.send_signal(signal.SIGCONT)
                return False
            finally:
                connection.close()
            return True

        wait_for(is_frozen, 20, "suspended outside a transaction")

    def end(self) -> None:
        """Kills what a failed test has left running."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait(10)

    def log_of(self, number: int) -> Path:
        return self.folder / f"log{number:03}.txt"

    def log(self) -> str:
        return "".join(file.read_text() for file in sorted(self.folder.glob("log*.txt")))

    def get(self, path: str) -> tuple[int, Any, dict[str, str]]:
        """The status code, body and headers of the HTTP response."""
        line = [line for line in self.log().splitlines() if " up " in line][-1]
        try:
            url = f"http://{line.rpartition('at=')[2]}{path}"
            with urllib.request.urlopen(url, timeout=5) as response:
                return response.status, json.loads(response.read()), dict(response.headers)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read()), dict(error.headers)

    def lines(self) -> list[Line]:
        """Of the ledger."""
        if not self.ledger.exists():
            return []
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [Line(**{**each, "slot": read_instant(each["slot"], "slot")}) for each in lines]

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        if not self.database.exists():
            return []
        connection = apsw.Connection(str(self.database), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(5000)
        try:
            return connection.execute(statement).fetchall()
        finally:
            connection.close()

    def succeeded(self, key: str = "steady") -> int:
        statement = "select count(*) from runs join schedules on id = schedule_id"
        found = self.query(f"{statement} where state = 'succeeded' and key = '{key}'")
        return int(found[0][0]) if found else 0

    def has_caught_up(self) -> bool:
        """Whatever was due half a second ago has finished, and no dead worker holds a run."""
        holders = self.query("select worker from runs where state = 'running'")
        if not all(is_alive(int(worker.split("-")[-2])) for (worker,) in holders):
            return False
        late = time.time_ns() // 1000 - SECOND // 2
        open_runs = "select count(*) from runs where finished_at is null"
        due = f"select count(*) from schedules where wake_at <= {late}"
        return self.query(f"{open_runs} and slot <= {late}") == [(0,)] and self.query(due) == [(0,)]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state != "Z"


def check_history(service: RealService) -> Counter[str]:
    """Asserts that no slot was missed, doubled or early, that all attempts of a run have its id,
    and that the stored history agrees with the ledger. Slots are computed here, by addition.
    Returns how many runs of each schedule ended in each state."""
    lines, counts = service.lines(), Counter[str]()
    starts: dict[tuple[str, int], list[Line]] = defaultdict(list)
    ends = {(line.run, line.attempt) for line in lines if line.what == "end"}
    for line in lines:
        if line.what == "start":
            starts[line.key, line.slot].append(line)
            assert line.wall >= line.slot, f"early: {line}"
    statement = "select key, schedules.created_at, cursor, body from schedules"
    tables = "join specifications s on s.schedule_id = id"
    for key, created, cursor, body in service.query(f"{statement} {tables}"):
        fields = json.loads(body)
        interval = int(fields["every"].removesuffix("s")) * SECOND
        expected = range(created + interval, cursor + 1, interval)
        runs = {row[0]: row for row in service.query(_runs_of(key))}
        assert sorted(runs) == list(expected), f"{key}: the planned slots are not the expected ones"
        for slot in expected:
            if runs[slot][2] in ("queued", "held") and slot > service.stopped_at - SECOND:
                continue  # it came due during the shutdown, and is left to the next start
            started = starts.pop((key, slot), [])
            _check_slot(key, runs[slot], started, ends, fields.get("execution"))
            counts[f"{key}: {runs[slot][2]}"] += 1
    unplanned = [key for key in starts if key[1] <= service.stopped_at - SECOND]
    assert not unplanned, f"started and not planned: {unplanned[:3]}"
    wait_for(lambda: not [n for n in lines if is_alive(n.pid)], 5, "every command has ended")
    return counts


def _runs_of(key: str) -> str:
    return (
        "select slot, schedule_id || '-' || number, state, attempt from runs"
        f" join schedules on id = schedule_id where key = '{key}'"
    )


def _check_slot(
    key: str, row: tuple[Any, ...], starts: list[Line], ends: set[tuple[str, int]], execution: Any
) -> None:
    slot, run, state, attempts = row
    what = f"{key} {slot} {run} {state}: {starts}"
    assert {line.run for line in starts} <= {run}, f"more than one id: {what}"
    numbers = [line.attempt for line in starts]
    assert numbers == sorted(set(numbers)), f"doubled: {what}"
    assert all(number <= attempts for number in numbers), f"unknown attempt: {what}"
    if execution == "at_most_once":
        assert len(starts) <= 1, f"more than once: {what}"
        assert state in ("succeeded", "lost"), f"unresolved: {what}"
    elif state == "lost":
        assert attempts == LOST_ATTEMPTS_MAX, f"lost too early: {what}"
    else:
        assert state in ("succeeded", "failed"), f"unresolved: {what}"
    if state == "succeeded":
        assert (run, attempts) in ends, f"a success that did not happen: {what}"


def killed_at(service: RealService, crash_at: str, again: str = "") -> Counter[str]:
    """Kill it there, start it again (and kill it again), let it catch up, and stop it."""
    for failpoint in filter(None, (crash_at, again)):
        process = service.start(failpoint)
        assert process.wait(30) == -signal.SIGKILL, service.log()[-2000:]
    before = service.succeeded()
    process = service.up()
    wait_for(lambda: service.succeeded() >= before + 2, 20, "it continues")
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)
    return check_history(service)


def killed_at_random(service: RealService, kills: int, seed: int) -> Counter[str]:
    generator = random.Random(seed)
    for _ in range(kills):
        process = service.start()
        time.sleep(generator.uniform(0.2, 2.5))
        process.kill()
        process.wait(10)
    process = service.up()
    wait_for(service.has_caught_up, 60, "it catches up")
    service.stop(process)
    return check_history(service)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=3)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for failpoint, step in FAILPOINTS.items():
        for hit in range(1, options.hits + 1):
            for again in ("", failpoint):
                total += _in_new_folder(killed_at, f"{failpoint}:{hit}", again)
        print(f"{step:<5}{failpoint:<26}{2 * options.hits} times, no slot missed, doubled or early")
    rounds = 10
    for number in range(rounds):
        total += _in_new_folder(killed_at_random, options.kills // rounds, options.seed + number)
    print(f"killed at random {options.kills} times; slots checked in all: {dict(total)}")


def _in_new_folder(campaign: Callable[..., Counter[str]], *values: Any) -> Counter[str]:
    with tempfile.TemporaryDirectory() as name:
        service = RealService(Path(name))
        try:
            return campaign(service, *values)
        finally:
            service.end()


if __name__ == "__main__":
    main()
