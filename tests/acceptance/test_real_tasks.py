"""Sync tasks of real programs, however these are started, from their import to their end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import PROGRAM, RealService, is_alive, wait_for

pytestmark = pytest.mark.unmeasured
SECONDS = 40
JOBS = """
import os
import time

from quarterjack import Context, Quarterjack

app = Quarterjack(
    database="sqlite:///quarterjack.db", defaults={"first_run": "now"}, lease="1s", grace="3s"
)

def note(what):
    with open("notes.txt", "a") as file:
        print(what, os.getpid(), __name__, file=file)

note("import")
app.on_worker_start(lambda: note("start"))
app.on_worker_stop(lambda: note("stop"))

@app.every("1h")
def report():
    return [os.getpid(), __name__]
"""
START = """
app.start()
if __name__ == "__main__":
    while not os.path.exists("end"):
        time.sleep(0.05)
    app.stop()
"""
STYLES = {
    "script": ([sys.executable, "jobs.py"], "app.run(port=0)"),
    "python -m": ([sys.executable, "-m", "jobs"], "app.run(port=0)"),
    "module": ([*PROGRAM, "up", "jobs:app", "--port", "0"], "app.run(port=0)"),
    "file": ([*PROGRAM, "up", "jobs.py:app", "--port", "0"], "app.run(port=0)"),
    "thread": ([sys.executable, "jobs.py"], START),
}


class Program:
    """A running program in a folder of its own."""

    def __init__(self, folder: Path, text: str, argv: list[str]) -> None:
        folder.mkdir(exist_ok=True)
        self.service = RealService(folder)
        self.folder = folder
        (folder / "jobs.py").write_text(text)
        with (folder / "log.txt").open("wb") as log:
            self.process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log)
        self.service.processes.append(self.process)

    def ended(self, count: int = 1) -> list[tuple[Any, ...]]:
        """Key, state, error and result of its runs, once so many have ended."""
        statement = "select key, state, error, result from runs join schedules on id = schedule_id"
        statement += " where finished_at is not null order by key"

        def ended() -> list[tuple[Any, ...]]:
            assert self.process.poll() is None, self.log()
            rows = self.service.query(statement) if self.is_ready() else []
            return rows if len(rows) >= count else []

        return list(wait_for(ended, SECONDS, f"{count} have ended"))

    def is_ready(self) -> bool:
        """Its database can be read."""
        return self.service.database.exists() and "runs" in {
            name for (name,) in self.service.query("select name from sqlite_schema")
        }

    def log(self) -> str:
        return (self.folder / "log.txt").read_text()[-3000:]

    def notes(self) -> list[tuple[str, int, str]]:
        lines = (self.folder / "notes.txt").read_text().splitlines()
        return [(what, int(pid), name) for what, pid, name in map(str.split, lines)]

    def stop(self) -> None:
        (self.folder / "end").touch()
        if "app.start()" not in (self.folder / "jobs.py").read_text():
            self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS) == 0, self.log()


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[dict[str, Program]]:
    """One for each way to start it, all at the same time."""
    made = {
        style: Program(tmp_path / style.replace(" ", ""), f"{JOBS}\n{end}\n", argv)
        for style, (argv, end) in STYLES.items()
    }
    yield made
    for each in made.values():
        each.service.end()


@pytest.mark.mission("H2", "H3")
def test_a_program_is_imported_once_in_a_task_process_under_its_own_name_and_starts_nothing_there(
    programs: dict[str, Program],
):
    for style, program in programs.items():
        ((_, state, error, result),) = program.ended()
        assert (state, error) == ("succeeded", None), style
        process, name = json.loads(result)
        program.stop()
        notes = program.notes()

        assert name == "jobs", style
        assert process != program.process.pid, style
        worker = [each for each in notes if each[1] == program.process.pid]
        assert [what for what, *_ in worker] == ["import", "start", "stop"], style
        own = [(what, name) for what, pid, name in notes if pid == process]
        assert own == [("import", "jobs"), ("start", "jobs"), ("stop", "jobs")], style
        spare = Counter(each for each in notes if each[1] not in (process, program.process.pid))
        assert set(spare.values()) <= {1}, style
        assert not is_alive(process), style


WORK = """
@app.task
def leave_child():
    if not os.fork():
        os.setsid()
        os.fork() and os._exit(0)
        open("child.txt", "w").write(str(os.getpid()))
        time.sleep(60)
        os._exit(0)
    open("task.txt", "w").write(str(os.getpid()))
    time.sleep(60)

app.schedule("child", leave_child, {"every": "1h"})
COMMAND = "echo $$ > command.txt; setsid sleep 60 & echo $! > sleep.txt; wait"
app.schedule("command", {"every": "1h"}, command=["sh", "-c", f"cd {os.getcwd()}; {COMMAND}"])
"""


@pytest.mark.fault("F5", "F6")
def test_nothing_of_a_sync_task_or_a_command_goes_on_after_its_worker_was_killed(tmp_path: Path):
    program = Program(tmp_path, JOBS + WORK, [*PROGRAM, "up", "jobs.py:app", "--port", "0"])
    files = [tmp_path / f"{name}.txt" for name in ("child", "task", "command", "sleep")]
    try:
        wait_for(
            lambda: all(each.exists() and each.read_text().strip() for each in files), SECONDS, "up"
        )
        ((_, _, _, result),) = program.ended()
    finally:
        os.kill(program.process.pid, signal.SIGKILL)
        program.process.wait(SECONDS)

    idle = json.loads(result)[0]
    pids = [idle, *(int(each.read_text()) for each in files)]
    assert wait_for(lambda: not any(map(is_alive, pids)), 5, "all are gone")


HOSTILE = """
@app.task
def segfault():
    import ctypes
    print("before", flush=True)
    ctypes.string_at(0)

@app.task
def leave():
    os._exit(7)

@app.task
def never():
    while True:
        time.sleep(0.01)

@app.task
def later(context: Context):
    before = context.deadline
    context.extend("1h")
    while context.deadline == before:
        time.sleep(0.01)
    context.progress(0.5, "half")
    context.log.warning("%d files", 3)
    return (context.deadline - before).total_seconds() > 3000

if __name__ == "__main__":
    @app.task
    def guarded(): ...

    app.schedule("guarded", guarded, {"every": "1h"})

for task in (segfault, leave, never, later):
    app.schedule(task.__name__, task, {"every": "1h"}, timeout="2s" if task == never else "1m")
app.run(port=0, workers=4)
"""


@pytest.mark.mission("P12")
@pytest.mark.fault("F48", "F49", "F53")
def test_tasks_that_end_badly_fail_their_own_runs_and_others_go_on(tmp_path: Path):
    program = Program(tmp_path, JOBS + HOSTILE, [sys.executable, "jobs.py"])
    try:
        rows = {key: rest for key, *rest in program.ended(6)}
        output = program.service.query(
            "select data from output join schedules on id = schedule_id where key = 'later'"
        )
        progress = program.service.query("select fraction, text from progress")
        program.stop()
    finally:
        program.service.end()

    ended = "the process of the task ended:"
    assert rows["segfault"][:2] == [
        "failed", f"{ended} killed by SIGSEGV; a library in C may be the cause",
    ]  # fmt: skip
    assert rows["leave"][:2] == [
        "failed", f"{ended} exit code 7; a task must return or raise, not end its process",
    ]  # fmt: skip
    assert rows["never"][:2] == ["timed_out", "timed out after 2 s"]
    assert rows["later"] == ["succeeded", None, "true"]
    assert rows["guarded"][:2] == [
        "failed",
        "task guarded is not there when __main__ is imported again; define it at the top of its"
        ' module, not under if __name__ == "__main__"',
    ]
    assert rows["report"][0] == "succeeded"
    assert b"".join(data for (data,) in output) == b"50% half\n3 files\n"
    assert progress == [(0.5, "half")]
