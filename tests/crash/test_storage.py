"""The disk and the database file fail under a real service: it waits and goes on by itself, or it
ends and says why. What ran meanwhile is believed only from the ledger."""

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

from harness.crash.kills import House, Line, judge, wait_for
from harness.store.disk import small_disk
from quarterjack.store.sqlite.file import open_database
from quarterjack.times.instants import SECOND

pytestmark = pytest.mark.unmeasured

LOCKING = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(10_000)
connection.execute("begin exclusive")
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[House]:
    service = House(tmp_path)
    yield service
    service.end()


@contextmanager
def locked(service: House) -> Iterator[None]:
    """Another program has the database for itself."""
    program = [sys.executable, "-c", LOCKING, str(service.database)]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"locked\n"
        yield


def slots(service: House, key: str) -> list[int]:
    statement = "select slot from runs join schedules on id = schedule_id"
    return [slot for (slot,) in service.query(f"{statement} where key = '{key}' order by slot")]


@pytest.mark.fault("F26")
def test_a_database_that_another_program_has_locked_is_waited_for(service: House):
    steady = {"every": "1s", "catch_up": "run_all", "if_running": "allow"}
    service.declare(
        {
            "steady": {**steady, "command": service.work(0)},
            "long": {"every": "1h", "first_run": "now", "command": service.work(6)},
        }
    )
    process = service.up()
    wait_for(lambda: len(service.lines()) >= 2, 20, "the long work has started")
    with locked(service):
        unready = wait_for(
            lambda: (found := service.caller("/readyz"))[0] == 503 and found, 20, "it says so"
        )
        assert service.caller("/healthz")[0] == 200
    before = service.succeeded()
    wait_for(lambda: service.succeeded() > before, 20, "it goes on by itself")
    wait_for(lambda: service.caller("/readyz")[0] == 200, 20, "it says that all is well")
    wait_for(lambda: service.succeeded("long"), 20, "the long work has ended")
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)

    _, said, headers = unready
    assert "another program has locked it" in str(said["problems"])
    assert int(headers["Retry-After"]) > 0
    (long,) = [line for line in service.lines() if (line.key, line.what) == ("long", "start")]
    assert long.attempt == 1, "it was not killed, nor started again"
    planned = slots(service, "steady")
    assert {later - slot for slot, later in itertools.pairwise(planned)} == {SECOND}


@pytest.mark.fault("F31")
def test_a_disk_that_is_full_is_waited_for_and_every_slot_is_accounted_for(tmp_path: Path):
    with small_disk(tmp_path / "disk") as disk:
        service = House(tmp_path)
        service.database = disk.folder / "quarterjack.db"
        talkative = f"echo begun >> {tmp_path}/begun; sleep 1; head -c 300000 /dev/zero"
        schedules = {
            "steady": {"every": "1s", "command": service.work(0)},
            "talkative": {"every": "3s", "command": ["sh", "-c", talkative]},
        }
        policies = {"catch_up": "run_all", "if_running": "queue"}
        service.declare(
            {key: policies | fields for key, fields in schedules.items()},
            database=f"sqlite:///{service.database}",
        )
        try:
            process = service.up()
            wait_for((tmp_path / "begun").exists, 20, "work that puts out much has begun")
            disk.fill()
            wait_for(lambda: service.caller("/readyz")[0] == 503, 20, "it says so")
            assert "the disk is full" in str(service.caller("/readyz")[1])
            wait_for(lambda: "succeeded run=2-0" in service.log(), 20, "the work has ended")
            assert process.poll() is None
            disk.make_room()
            before = service.succeeded()
            wait_for(lambda: service.succeeded() > before + 2, 20, "it goes on by itself")
            output = "select sum(length(data)) from output where schedule_id = 2 and number = 0"
            assert service.query(output) == [(300_000,)], "it was kept until there was room"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
            planned = slots(service, "steady")
        finally:
            service.end()

    assert {later - slot for slot, later in itertools.pairwise(planned)} == {SECOND}


def copied(service: House, to: Path) -> None:
    """A backup, as a good tool makes it."""
    source = apsw.Connection(str(service.database), flags=apsw.SQLITE_OPEN_READONLY)
    copy = apsw.Connection(str(to))
    with copy.backup("main", source, "main") as backup:
        backup.step(-1)
    copy.pragma("journal_mode", "wal")
    copy.close()
    source.close()


def has_just_begun(service: House, key: str) -> Line | None:
    last = [line for line in service.lines() if line.key == key][-1]
    return last if last.what == "start" and time.time_ns() // 1000 < last.wall + SECOND else None


def written_back(service: House) -> None:
    """As it is from time to time, when much was written."""
    connection = apsw.Connection(str(service.database))
    connection.set_busy_timeout(5000)
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()
    connection.close()


@pytest.mark.fault("F32")
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: b"", "the file is empty; restore a backup"),
        (lambda data: data[:9000], "restore a backup"),
        (lambda data: data[:4096] + b"\xff" * 4096 + data[8192:], "it is damaged"),
        (lambda data: b"\0" * len(data), "it is not a SQLite database"),
    ],
    ids=["emptied", "cut short", "a page lost", "zeros"],
)
def test_a_damaged_file_ends_a_start_with_1_and_is_left_alone(
    service: House, damage: Callable[[bytes], bytes], said: str
):
    open_database(service.database, now=0, create=True).close()
    damaged = damage(service.database.read_bytes())
    service.database.write_bytes(damaged)

    assert service.start().wait(20) == 1
    assert "error: database quarterjack.db: " in service.log()
    assert said in service.log()
    assert "backup" in service.log()
    assert service.database.read_bytes() == damaged


@pytest.mark.fault("F32")
@pytest.mark.parametrize("lost", ["-wal", "-shm"])
def test_killed_and_robbed_of_what_lay_beside_it_the_database_is_still_one(
    service: House, lost: str
):
    """Without its log it is what it was when that was last written back, and catches up from there;
    what lies in the shared memory is worked out anew."""
    process = service.up()
    wait_for(lambda: service.succeeded() >= 2, 20, "it works")
    written_back(service)
    kept = slots(service, "steady")
    process.kill()
    process.wait(10)
    beside = service.folder / f"quarterjack.db{lost}"
    assert beside.exists()
    if lost == "-wal":
        beside.unlink()
    else:
        beside.write_bytes(random.Random(1).randbytes(32768))

    process = service.up()
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)

    assert slots(service, "steady")[: len(kept)] == kept
    assert service.query("pragma integrity_check") == [("ok",)]
    assert lost == "-wal" or judge(service)["steady: succeeded"] >= 2


OPEN_FILES = """
import os, sys
pid = os.getpid()
while os.readlink(f"/proc/{pid}/exe") == os.path.realpath(sys.executable):
    command = open(f"/proc/{pid}/cmdline").read().replace(chr(0), " ")
    folder = f"/proc/{pid}/fd"
    names = [os.readlink(f"{folder}/{name}") for name in os.listdir(folder)
             if os.path.islink(f"{folder}/{name}")]
    print(command[-20:].strip(), *names, sep="|")
    if "supervising" not in command and pid != os.getpid():
        break
    pid = int(open(f"/proc/{pid}/stat").read().rpartition(") ")[2].split()[1])
"""


@pytest.mark.fault("F34")
def test_a_command_and_those_who_watch_over_it_have_nothing_of_the_database_open(service: House):
    looks = [sys.executable, "-S", "-E", "-c", OPEN_FILES]
    service.declare({"looks": {"every": "1h", "first_run": "now", "command": looks}})
    process = service.up()
    wait_for(lambda: service.succeeded("looks"), 20, "it has looked")
    service.stop(process)

    ((said,),) = service.query("select data from output")
    own, supervisor, first, worker = said.decode().splitlines()
    assert "quarterjack.db-wal" in worker, "the look is not blind"
    assert [line for line in (own, supervisor, first) if "quarterjack.db" in line] == []


class TestAnOlderCopy:
    @pytest.fixture
    def process(self, service: House) -> subprocess.Popen[bytes]:
        """A service, and beside its database a copy of it that has grown old."""
        works = {"steady": service.work(0), "slow": service.work(1.5)}
        service.declare({key: {"every": "500ms", "command": work} for key, work in works.items()})
        process = service.up()
        wait_for(lambda: service.succeeded() >= 1, 20, "it works")
        copied(service, service.folder / "copy.db")
        old = service.succeeded()
        wait_for(lambda: service.succeeded() >= old + 3, 20, "it goes on")
        written_back(service)
        return process

    def caught_up(self, service: House) -> list[int]:
        """The slots after a new start: what came due since the copy was made is one of them."""
        had, started_at = slots(service, "steady"), time.time_ns() // 1000
        process = service.up()
        wait_for(lambda: len(slots(service, "steady")) >= len(had) + 3, 20, "it goes on")
        service.stop(process)

        new = slots(service, "steady")[len(had) :]
        assert had[-1] < new[0]
        assert len([slot for slot in new if slot <= started_at]) <= 1, "one run for all between"
        late = f"select caught_up from runs where schedule_id = 1 and slot = {new[0]}"
        assert service.query(late) == [(1,)]
        assert service.query("pragma integrity_check") == [("ok",)]
        return new

    @pytest.mark.fault("F33")
    @pytest.mark.parametrize("how", ["moved", "overwritten"])
    def test_put_in_its_place_while_it_runs_ends_the_service(
        self, service: House, process: subprocess.Popen[bytes], how: str
    ):
        begun = wait_for(lambda: has_just_begun(service, "slow"), 20, "slow work is under way")
        if how == "moved":
            (service.folder / "copy.db").rename(service.database)
        else:
            shutil.copyfile(service.folder / "copy.db", service.database)

        assert process.wait(20) == 1, service.log()
        said = "error: database quarterjack.db: the file was replaced while it was in use; if that"
        assert said in service.log()
        assert (service.folder / "quarterjack.db-wal.replaced").exists(), "it is not of this copy"
        ended = {line.run for line in service.lines() if line.what == "end"}
        assert begun.run in ended, "what ran had its grace"
        assert self.caught_up(service)

    @pytest.mark.fault("F33")
    def test_put_in_its_place_before_a_start_is_caught_up_once(
        self, service: House, process: subprocess.Popen[bytes]
    ):
        service.stop(process)
        (service.folder / "copy.db").rename(service.database)

        assert self.caught_up(service)

    @pytest.mark.fault("F33")
    def test_a_file_that_is_gone_ends_the_service_and_is_not_made_anew(
        self, service: House, process: subprocess.Popen[bytes]
    ):
        service.database.unlink()

        assert process.wait(20) == 1, service.log()
        assert "the file was taken away while it was in use; put it back" in service.log()
        assert service.start().wait(20) == 1
        assert "it is gone, but quarterjack.db-wal is there; put that file back" in service.log()
        assert not service.database.exists()
