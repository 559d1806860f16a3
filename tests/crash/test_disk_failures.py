"""The disk or the database file fails under a real service: it waits and recovers, or it exits with
the reason."""

from __future__ import annotations

import itertools
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from harness.crash.kills import Line, RealService, check_history, wait_for
from harness.store.disk import small_disk
from quarterjack.store.sqlite.file import open_database
from quarterjack.times.instants import SECOND

pytestmark = pytest.mark.unmeasured

LOCK_DATABASE = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(10_000)
connection.execute("begin exclusive")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked(service: RealService) -> Iterator[None]:
    """Another program locks the database."""
    program = [sys.executable, "-c", LOCK_DATABASE, str(service.database)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"locked\n"
        yield


def slots(service: RealService, key: str) -> list[int]:
    statement = "select slot from runs join schedules on id = schedule_id"
    return [slot for (slot,) in service.query(f"{statement} where key = '{key}' order by slot")]


@pytest.mark.fault("F26")
def test_a_service_waits_for_a_database_that_another_program_has_locked(service: RealService):
    steady = {"every": "1s", "catch_up": "run_all", "if_running": "allow"}
    service.declare(
        {
            "steady": {**steady, "command": service.work(0)},
            "long": {"every": "1h", "first_run": "now", "command": service.work(6)},
        }
    )
    process = service.up()
    wait_for(lambda: len(service.lines()) >= 2, 20, "the long command has started")
    with locked(service):
        unready = wait_for(
            lambda: (found := service.get("/readyz"))[0] == 503 and found, 20, "it is not ready"
        )
        assert service.get("/healthz")[0] == 200
    before = service.succeeded()
    wait_for(lambda: service.succeeded() > before, 20, "it continues")
    wait_for(lambda: service.get("/readyz")[0] == 200, 20, "it is ready")
    wait_for(lambda: service.succeeded("long"), 20, "the long command has ended")
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)

    _, body, headers = unready
    assert "locked by another program" in str(body["problems"])
    assert int(headers["Retry-After"]) > 0
    (long,) = [line for line in service.lines() if (line.key, line.what) == ("long", "start")]
    assert long.attempt == 1, "it was neither killed nor restarted"
    planned = slots(service, "steady")
    assert {later - slot for slot, later in itertools.pairwise(planned)} == {SECOND}


@pytest.mark.fault("F31")
def test_a_service_waits_while_the_disk_is_full_and_loses_no_slot(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        service = RealService(tmp_path)
        service.database = disk.folder / "quarterjack.db"
        verbose = f"echo begun >> {tmp_path}/begun; sleep 1; head -c 300000 /dev/zero"
        schedules = {
            "steady": {"every": "1s", "command": service.work(0)},
            "verbose": {"every": "3s", "command": ["sh", "-c", verbose]},
        }
        policies = {"catch_up": "run_all", "if_running": "queue"}
        service.declare(
            {key: policies | fields for key, fields in schedules.items()},
            database=f"sqlite:///{service.database}",
        )
        try:
            process = service.up()
            wait_for((tmp_path / "begun").exists, 20, "the command with much output has started")
            disk.fill()
            wait_for(lambda: service.get("/readyz")[0] == 503, 20, "it is not ready")
            assert "the disk is full" in str(service.get("/readyz")[1])
            wait_for(
                lambda: "attempt succeeded run=2-0" in service.log(), 20, "the command has ended"
            )
            assert process.poll() is None
            disk.free_space()
            before = service.succeeded()
            wait_for(lambda: service.succeeded() > before + 2, 20, "it continues")
            output = "select sum(length(data)) from output where schedule_id = 2 and number = 0"
            assert service.query(output) == [(300_000,)], (
                "it was kept in memory until there was room"
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            planned = slots(service, "steady")
        finally:
            service.end()

    assert {later - slot for slot, later in itertools.pairwise(planned)} == {SECOND}


def back_up(service: RealService, to: Path) -> None:
    source = apsw.Connection(str(service.database), flags=apsw.SQLITE_OPEN_READONLY)
    copy = apsw.Connection(str(to))
    with copy.backup("main", source, "main") as backup:
        backup.step(-1)
    copy.pragma("journal_mode", "wal")
    copy.close()
    source.close()


def just_started(service: RealService, key: str) -> Line | None:
    last = [line for line in service.lines() if line.key == key][-1]
    return last if last.what == "start" and time.time_ns() // 1000 < last.wall + SECOND else None


def checkpoint(service: RealService) -> None:
    connection = apsw.Connection(str(service.database))
    connection.set_busy_timeout(5000)
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    connection.close()


@pytest.mark.fault("F32")
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda data: b"", "the file is empty; restore a backup"),
        (lambda data: data[:9000], "restore a backup"),
        (lambda data: data[:4096] + b"\xff" * 4096 + data[8192:], "the file is corrupt"),
        (lambda data: b"\0" * len(data), "not a SQLite database"),
    ],
    ids=["emptied", "truncated", "a page overwritten", "zeros"],
)
def test_a_start_on_a_damaged_file_exits_with_1_and_leaves_it_unchanged(
    service: RealService, damage: Callable[[bytes], bytes], message: str
):
    open_database(service.database, now=0, create=True).close()
    damaged = damage(service.database.read_bytes())
    service.database.write_bytes(damaged)

    assert service.start().wait(20) == 1
    assert "error: database quarterjack.db: " in service.log()
    assert message in service.log()
    assert "backup" in service.log()
    assert service.database.read_bytes() == damaged


@pytest.mark.fault("F32")
@pytest.mark.parametrize("lost", ["-wal", "-shm"])
def test_after_a_kill_and_the_loss_of_a_side_file_the_database_is_consistent(
    service: RealService, lost: str
):
    """Without its log it has the state of the last checkpoint, and catches up from there. The
    shared memory is rebuilt."""
    process = service.up()
    wait_for(lambda: service.succeeded() >= 2, 20, "it works")
    checkpoint(service)
    kept = slots(service, "steady")
    process.kill()
    process.wait(10)
    side_file = service.folder / f"quarterjack.db{lost}"
    assert side_file.exists()
    if lost == "-wal":
        side_file.unlink()
    else:
        side_file.write_bytes(random.Random(1).randbytes(32768))

    process = service.up()
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)

    assert slots(service, "steady")[: len(kept)] == kept
    assert service.query("pragma integrity_check") == [("ok",)]
    assert lost == "-wal" or check_history(service)["steady: succeeded"] >= 2


OPEN_FILES = """
import os, sys
pid = os.getpid()
while os.readlink(f"/proc/{pid}/exe") == os.path.realpath(sys.executable):
    command = open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ")
    folder = f"/proc/{pid}/fd"
    names = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)
             if os.path.islink(f"{folder}/{name}")]
    print(command[-20:].strip(), *names, sep="|")
    if "supervisor" not in command and pid != os.getpid():
        break
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(") ")[2].split()[1])
"""


@pytest.mark.fault("F34")
def test_a_command_and_its_supervisors_have_no_file_of_the_database_open(service: RealService):
    command = [sys.executable, "-S", "-E", "-c", OPEN_FILES]
    service.declare({"list": {"every": "1h", "first_run": "now", "command": command}})
    process = service.up()
    wait_for(lambda: service.succeeded("list"), 20, "it has succeeded")
    service.stop(process)

    ((output,),) = service.query("select data from output")
    own, supervisor, first, worker = output.decode().splitlines()
    assert "quarterjack.db-wal" in worker, "the listing works"
    assert [line for line in (own, supervisor, first) if "quarterjack.db" in line] == []


class TestAnOlderCopy:
    @pytest.fixture
    def process(self, service: RealService) -> subprocess.Popen[bytes]:
        """With an older copy of the database beside it."""
        works = {"steady": service.work(0), "slow": service.work(1.5)}
        service.declare({key: {"every": "500ms", "command": work} for key, work in works.items()})
        process = service.up()
        wait_for(lambda: service.succeeded() >= 1, 20, "it works")
        back_up(service, service.folder / "copy.db")
        old = service.succeeded()
        wait_for(lambda: service.succeeded() >= old + 3, 20, "it continues")
        checkpoint(service)
        return process

    def slots_after_a_start(self, service: RealService) -> list[int]:
        """All slots that came due since the copy was made have one run."""
        had, started_at = slots(service, "steady"), time.time_ns() // 1000
        process = service.up()
        wait_for(lambda: len(slots(service, "steady")) >= len(had) + 3, 20, "it continues")
        service.stop(process)

        new = slots(service, "steady")[len(had) :]
        assert had[-1] < new[0]
        assert len([slot for slot in new if slot <= started_at]) <= 1, "one run for all of them"
        late = f"select caught_up from runs where schedule_id = 1 and slot = {new[0]}"
        assert service.query(late) == [(1,)]
        assert service.query("pragma integrity_check") == [("ok",)]
        return new

    @pytest.mark.fault("F33")
    @pytest.mark.parametrize("how", ["moved", "overwritten"])
    def test_in_place_of_the_open_file_ends_the_service(
        self, service: RealService, process: subprocess.Popen[bytes], how: str
    ):
        start = wait_for(lambda: just_started(service, "slow"), 20, "a slow command is running")
        if how == "moved":
            (service.folder / "copy.db").rename(service.database)
        else:
            shutil.copyfile(service.folder / "copy.db", service.database)

        assert process.wait(20) == 1, service.log()
        message = "error: database quarterjack.db: the file was replaced while in use; if that"
        assert message in service.log()
        assert (service.folder / "quarterjack.db-wal.replaced").exists(), (
            "it does not belong to the copy"
        )
        ended = {line.run for line in service.lines() if line.what == "end"}
        assert start.run in ended, "the running command had its grace period"
        assert self.slots_after_a_start(service)

    @pytest.mark.fault("F33")
    def test_in_place_of_the_file_before_a_start_is_caught_up_once(
        self, service: RealService, process: subprocess.Popen[bytes]
    ):
        service.stop(process)
        (service.folder / "copy.db").rename(service.database)

        assert self.slots_after_a_start(service)

    @pytest.mark.fault("F33")
    def test_a_deleted_file_ends_the_service_and_is_not_created_again(
        self, service: RealService, process: subprocess.Popen[bytes]
    ):
        service.database.unlink()

        assert process.wait(20) == 1, service.log()
        assert "the file was removed while in use; put it back" in service.log()
        assert service.start().wait(20) == 1
        assert (
            "the file is missing, but quarterjack.db-wal exists; put the file back" in service.log()
        )
        assert not service.database.exists()
