"""The programs in `examples/`, run as they are: as real processes, in real web servers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import wait_for
from harness.store.server import free_port, server
from quarterjack.errors import QuarterjackError
from quarterjack.store.reader import Reader
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import from_datetime

pytestmark = pytest.mark.unmeasured
EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 45
"""Far more than anything here takes; what ends because of it has failed."""
PYTHON = [sys.executable]
UVICORN = [*PYTHON, "-m", "uvicorn", "--port", "0"]
TWO_UVICORNS = [*UVICORN, "fastapi_app:app", "--workers", "2"]
TWO_GUNICORNS = [
    *PYTHON, "-m", "gunicorn", "--config", "gunicorn_conf.py", "--bind", "127.0.0.1:0",
    "--workers", "2", "flask_app:app",
]  # fmt: skip
UVICORN_LISTENS = "Uvicorn running on"
GUNICORN_LISTENS = "Listening at:"


class Programs:
    """Processes in the folder of the examples, on one database."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"sqlite:///{folder}/quarterjack.db"
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str, cwd: Path = EXAMPLES) -> subprocess.Popen[bytes]:
        """Its output goes to `out`."""
        environment = {
            **os.environ, "QUARTERJACK_DATABASE_URL": self.url, "PORT": "0",
            "PYTHONPATH": str(EXAMPLES), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1",
        }  # fmt: skip
        environment.pop("RUN_MAIN", None)
        with (self.folder / "out.txt").open("ab") as out:
            started = subprocess.Popen(
                command, cwd=cwd, env=environment, stdout=out, stderr=out, start_new_session=True
            )
        self.running.append(started)
        return started

    def stop(
        self,
        program: subprocess.Popen[bytes],
        how: signal.Signals = signal.SIGTERM,
        exit_code: int = 0,
    ) -> None:
        program.send_signal(how)
        assert program.wait(SECONDS) == exit_code, self.out()

    def end(self) -> None:
        """Kills what a failed test has left running."""
        for program in self.running:
            if program.poll() is None:
                os.killpg(program.pid, signal.SIGKILL)
                program.wait(SECONDS)

    def out(self) -> str:
        """What the programs have printed, and then what is stored as output of their runs."""
        printed = (self.folder / "out.txt").read_text()
        try:
            with closing(Reader(self.url, KINDS)) as reader:
                runs = [each.run.id for each in reader.runs(limit=1000)]
                chunks = [chunk for run in runs for chunk in reader.output(run)]
        except QuarterjackError:  # there is no database yet
            return printed
        return printed + b"".join(chunk.data for chunk in chunks).decode()

    def wait_for_line(self, pattern: str, times: int = 1) -> list[str]:
        def found() -> list[str]:
            lines = re.findall(pattern, self.out(), re.MULTILINE)
            return lines if len(lines) >= times else []

        try:
            return list(wait_for(found, SECONDS, pattern))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.out()}") from None

    def address(self, pattern: str) -> str:
        return self.wait_for_line(rf"{pattern} (http://127\.0\.0\.1:[1-9]\d*)")[0]

    def runs(self, key: str | None = None) -> list[tuple[str, str]]:
        with closing(Reader(self.url, KINDS)) as reader:
            found = reader.runs(key, limit=1000)
            return [(each.key, str(each.run.state)) for each in found]

    def slots(self, key: str) -> list[tuple[int, str]]:
        with closing(Reader(self.url, KINDS)) as reader:
            found = reader.runs(key, limit=1000)
            return [(each.run.slot, str(each.run.state)) for each in found]

    def live_nodes(self) -> list[tuple[bool, bool]]:
        """What each of them does: plans, works."""
        with closing(Reader(self.url, KINDS)) as reader:
            return sorted((each.plans, each.works) for each in reader.nodes())


@pytest.fixture
def programs(tmp_path: Path) -> Iterator[Programs]:
    programs = Programs(tmp_path)
    yield programs
    programs.end()


def request(address: str, method: str = "GET") -> Any:
    with urllib.request.urlopen(
        urllib.request.Request(address, method=method), timeout=SECONDS
    ) as response:
        return json.loads(response.read())


def check_slots(programs: Programs, key: str) -> None:
    """Each slot of this schedule has one run, and each run was executed once."""
    executed = re.findall(rf"^{key} (\S+) in \d+$", programs.out(), re.MULTILINE)
    slots = Counter(from_datetime(datetime.fromisoformat(each), "slot") for each in executed)
    runs = programs.slots(key)

    assert len(slots) >= 3
    assert set(slots.values()) == {1}
    assert sorted(slots) == sorted(slot for slot, state in runs if state == "succeeded")
    assert len({slot for slot, _ in runs}) == len(runs)
    assert {state for _, state in runs} <= {"succeeded", "queued"}, "due during the shutdown"


@pytest.mark.mission("H10", "V1")
def test_a_plain_program_says_what_it_runs_and_stops_on_sigterm(programs: Programs):
    program = programs.start(*PYTHON, "plain.py")
    address = programs.address("quarterjack:")
    programs.wait_for_line(r"^heartbeat 1-\d+ of ", 1)
    assert request(f"{address}/healthz") == {"status": "ok"}
    programs.stop(program)

    assert "quarterjack: 2 schedules, 2 tasks, sqlite:///" in programs.out()
    assert "  heartbeat: every 2 seconds\n" in programs.out()
    assert "  nightly-cleanup: every day at 03:00" in programs.out()
    assert programs.live_nodes() == []
    assert {state for _, state in programs.runs("heartbeat")} == {"succeeded"}


SLOW = """
import asyncio, time
from quarterjack import Quarterjack
app = Quarterjack("sqlite:///slow.db", grace="1h")
@app.every("1h", first_run="now")
async def slow_async():
    print("async works", flush=True)
    await asyncio.sleep(3600)
@app.every("1h", first_run="now")
def slow_sync():
    print("sync works", flush=True)
    time.sleep(3600)
app.run(port=0)
"""


@pytest.mark.mission("H10")
def test_a_second_ctrl_c_ends_a_program_at_once(programs: Programs):
    (programs.folder / "slow.py").write_text(SLOW)
    programs.url = f"sqlite:///{programs.folder}/slow.db"
    program = programs.start(*PYTHON, "slow.py", cwd=programs.folder)
    programs.wait_for_line("works$", 2)
    program.send_signal(signal.SIGINT)
    programs.wait_for_line("stopping")
    program.send_signal(signal.SIGINT)

    assert program.wait(15) == 0, programs.out()
    assert {state for _, state in programs.runs()} == {"queued"}, "handed back"


def test_problems_of_a_program_are_printed_and_it_exits_with_1(programs: Programs):
    text = SLOW.replace("first_run", "first_runs")
    (programs.folder / "wrong.py").write_text(text)
    program = programs.start(*PYTHON, "wrong.py", cwd=programs.folder)

    assert program.wait(SECONDS) == 1
    out = programs.out()
    assert out.startswith("error: ")
    assert "Traceback" not in out
    assert all(text in out for text in ("wrong.py:5", "wrong.py:9", "first_runs")), out


@pytest.mark.mission("V1")
def test_an_asyncio_program_shares_its_loop_with_its_tasks(programs: Programs):
    program = programs.start(*PYTHON, "asyncio_program.py")

    assert program.wait(SECONDS) == 0, programs.out()
    lines = re.findall(r"^(reading|added run) 1-\d+$", programs.out(), re.MULTILINE)
    assert lines == ["reading", "reading", "added run", "reading"], programs.out()


@pytest.mark.mission("V1")
def test_the_tasks_of_a_starlette_program_use_what_its_lifespan_opens_and_closes(
    programs: Programs,
):
    program = programs.start(*UVICORN, "starlette_app:app")
    address = programs.address(UVICORN_LISTENS)
    programs.wait_for_line(r"^refresh 1-\d+ with 1 connection$")
    assert request(f"{address}/refresh", "POST")["run"].startswith("1-")
    assert {run["schedule"] for run in request(f"{address}/runs")} == {"refresh"}
    # A single uvicorn raises the signal again when it has shut down.
    programs.stop(program, exit_code=-signal.SIGTERM)

    assert programs.live_nodes() == []
    lines = re.findall(r"^(?:refresh 1-\d+ with|the pool) .*$", programs.out(), re.MULTILINE)
    assert lines[-1] == "the pool is closed"
    assert all(line.endswith(" with 1 connection") for line in lines[:-1]), lines


@pytest.mark.parametrize(
    ("command", "listening", "key"),
    [
        pytest.param(TWO_UVICORNS, UVICORN_LISTENS, "refresh", id="uvicorn"),
        pytest.param(TWO_GUNICORNS, GUNICORN_LISTENS, "count_orders", id="gunicorn"),
    ],
)
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
@pytest.mark.mission("H6", "V1")
def test_each_slot_runs_once_in_a_server_with_two_processes(
    programs: Programs, store: str, command: list[str], listening: str, key: str
):
    if store == "postgresql":
        programs.url = new_database(key)
    program = programs.start(*command)
    address = programs.address(listening)
    programs.wait_for_line(rf"^{key} ", 3)
    wait_for(lambda: len(programs.live_nodes()) == 2, SECONDS, "both processes")
    shown = request(f"{address}/runs")
    programs.stop(program)

    assert {run["schedule"] for run in shown} == {key}
    assert programs.live_nodes() == []
    check_slots(programs, key)


@pytest.mark.mission("H1", "H3", "H10")
def test_a_scheduler_and_workers_of_a_program_are_separate_processes(programs: Programs):
    programs.url = new_database("apart")
    cli = [*PYTHON, "-m", "quarterjack"]
    scheduler = programs.start(*cli, "scheduler", "worker_apart.py:app")
    programs.wait_for_line(" up ")
    worker = programs.start(*cli, "worker", "worker_apart.py:app", "--queues", "reports")
    programs.wait_for_line("^report for europe")
    assert programs.live_nodes() == [(False, True), (True, False)]
    assert {state for key, state in programs.runs() if key == "heartbeat"} == {"queued"}
    other = programs.start(*cli, "worker", "worker_apart.py:app", "--queues", "default")
    programs.wait_for_line(r"^heartbeat 1-\d")
    for program in (other, worker, scheduler):
        programs.stop(program)

    assert programs.runs("sales-europe") == [("sales-europe", "succeeded")]
    assert programs.live_nodes() == []


@pytest.mark.mission("V1")
def test_a_flask_program_stops_its_schedules_on_ctrl_c(programs: Programs):
    program = programs.start(*PYTHON, "flask_app.py")
    address = programs.address("Running on")
    assert request(f"{address}/count", "POST")["run"].startswith("1-")
    wait_for(lambda: len(request(f"{address}/runs")) >= 2, SECONDS, "two runs")
    programs.stop(program, signal.SIGINT)

    assert programs.live_nodes() == []


DJANGO = EXAMPLES / "django_project"


@pytest.mark.mission("V1", "H10")
def test_a_django_management_command_runs_the_schedules(programs: Programs):
    manage = [*PYTHON, str(DJANGO / "manage.py")]
    program = programs.start(*manage, "quarterjack", "--port", "0", cwd=programs.folder)
    programs.wait_for_line(r"^count_orders 1-\d+: 42$", 2)
    programs.stop(program)

    assert programs.live_nodes() == []


@pytest.mark.mission("V1")
def test_the_development_server_of_django_starts_the_schedules(programs: Programs):
    place = f"127.0.0.1:{free_port()}"
    manage = [*PYTHON, str(DJANGO / "manage.py")]
    program = programs.start(*manage, "runserver", place, cwd=programs.folder)
    programs.wait_for_line("Quit the server")
    programs.wait_for_line(r"^count_orders 1-\d+: 42$", 1)
    assert request(f"http://{place}/runs")["runs"][0]["schedule"] == "count_orders"
    os.killpg(program.pid, signal.SIGINT)
    assert program.wait(SECONDS) == 0, programs.out()

    wait_for(lambda: programs.live_nodes() == [], SECONDS, "the serving process has stopped")


def new_database(name: str) -> str:
    """On the PostgreSQL server of this test process."""
    return f"{server().url}?schema=examples_{name}"
