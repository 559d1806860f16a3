"""Opening and creating the database file, and every reason to refuse one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from harness.store.fuse import fuse_folder
from quarterjack.errors import StoreUnusable
from quarterjack.store.sqlite import file
from quarterjack.store.sqlite.file import open_database, open_read_only, path_of
from quarterjack.store.statements import sql

OPEN = (
    "import sys; from pathlib import Path;"
    "from quarterjack.store.sqlite.file import open_database;"
    "open_database(Path(sys.argv[1]), now=0, create=True)"
)


def create(folder: Path, name: str = "q.db") -> Path:
    path = folder / name
    open_database(path, now=0, create=True).close()
    return path


def refusal(path: Path) -> str:
    """The error of opening this file, which must not change it."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreUnusable) as error:
        open_database(path, now=0, create=True)
    assert (path.read_bytes() if path.is_file() else None) == before, "nothing was changed"
    message = str(error.value)
    assert message.startswith(f"database {path}: ")
    assert "; " in message, "it says what to do"
    return message


@pytest.mark.fault("F9")
@pytest.mark.parametrize("place", ["migration.written", "create.written"])
def test_creation_is_repeated_after_it_was_killed(tmp_path: Path, place: str):
    path = tmp_path / "q.db"
    killed = subprocess.run(
        [sys.executable, "-c", OPEN, str(path)],
        env={**os.environ, "QUARTERJACK_CRASH_AT": place},
        check=False,
    )

    assert killed.returncode == -9
    assert not path.exists(), "nobody sees an incomplete database"
    assert open_database(path, now=0, create=True).pragma("integrity_check") == "ok"


def test_concurrent_creations_create_one_database(tmp_path: Path):
    path = tmp_path / "q.db"
    processes = [subprocess.Popen([sys.executable, "-c", OPEN, str(path)]) for _ in range(4)]

    assert [each.wait() for each in processes] == [0] * 4
    names = {file.name for file in tmp_path.iterdir()}
    # Two processes that close at the same moment leave the log to the next one that opens.
    assert names - {"q.db-wal", "q.db-shm"} == {"q.db"}
    assert open_database(path, now=0).pragma("integrity_check") == "ok"


def test_durability_sets_the_synchronous_pragma(tmp_path: Path):
    path = create(tmp_path)
    full, normal = 2, 1

    assert open_database(path, now=0).pragma("synchronous") == full
    assert open_database(path, now=0, durability="normal").pragma("synchronous") == normal
    connection = open_database(path, now=0)
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("auto_vacuum") == 2, "incremental"


def test_a_statement_is_not_planned_again_for_other_values(tmp_path: Path):
    reprepared: list[int] = []

    def note(finished: dict[str, Any]) -> None:
        reprepared.append(finished["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"])

    connection = open_database(create(tmp_path), now=0)
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    for now in range(3):
        connection.execute(sql("due_schedules", "sqlite"), (now, 1000)).fetchall()

    assert reprepared == [0, 0, 0]


def test_a_reader_does_not_create_a_database(tmp_path: Path):
    with pytest.raises(StoreUnusable, match="not found; start `quarterjack up` once"):
        open_read_only(tmp_path / "q.db")
    assert list(tmp_path.iterdir()) == []


def test_a_reader_cannot_write(tmp_path: Path):
    connection = open_read_only(create(tmp_path))

    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("delete from runs")


def test_path_of_an_address():
    assert path_of("sqlite:///a/b.db") == Path("a/b.db")
    assert path_of("sqlite:////a/b.db") == Path("/a/b.db")
    for wrong in ("mysql://x", "q.db", "sqlite:///", "sqlite://q.db"):
        with pytest.raises(StoreUnusable, match=r"write sqlite:///quarterjack\.db"):
            path_of(wrong)


PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from quarterjack.clock import SystemClock
from quarterjack.declare.declaration import read_declaration
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.engine.node import Node
from quarterjack.declare.apply import apply
from quarterjack.store.reader import Reader
from quarterjack.service import open_store
from quarterjack.targets.kinds import KINDS, make_targets
from quarterjack.targets.registrations import Registry

path, opened, clock = Path(sys.argv[1]), [], SystemClock()
file = path.with_name("q.yaml")
file.write_text("schedules: {a: {every: 1h, first_run: now, command: [echo, hello]}}")

async def use():
    store = await open_store(f"sqlite:///{path}", clock)
    sys.addaudithook(lambda event, values: event == "open" and opened.append(str(values[0])))
    declaration = read_declaration(read_yaml(file))
    await apply(store, declaration, clock.now())
    node = Node(store, make_targets(Registry(), 1), clock, declaration.node_config("w"))
    running = asyncio.create_task(node.run())
    reader = Reader(f"sqlite:///{path}", KINDS)
    while not [run for run in reader.runs() if run.run.finished_at]:
        await asyncio.sleep(0.02)
    await store.checkpoint()
    await store.vacuum()
    node.stop()
    await running
    reader.close()
    await store.close()
    os.close(os.open(path, os.O_RDONLY))  # shows that the hook notices it

asyncio.run(use())
print(*(Path(name).name for name in opened if name.startswith(str(path.parent))))
"""


@pytest.mark.fault("F34")
def test_nothing_else_opens_the_file_while_sqlite_has_it_open(tmp_path: Path):
    """Closing a file releases all locks of the process on it, SQLite's too."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "q.db")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.stdout.split() == ["q.yaml", "q.db"], done.stderr[-2000:]


class TestRefused:
    @pytest.mark.fault("F32")
    def test_corrupt_pages_are_found_at_the_start(self, tmp_path: Path):
        path = create(tmp_path)
        data = bytearray(path.read_bytes())
        for place in range(4096, len(data), 4096):
            data[place : place + 64] = os.urandom(64)
        path.write_bytes(data)

        assert "corrupt" in refusal(path)

    @pytest.mark.fault("F32")
    def test_a_flipped_bit_is_found_or_changes_one_row_only(self, tmp_path: Path):
        """SQLite has no checksums, so a changed value is not found; changes elsewhere are found or
        harmless. The database is never taken for an empty one."""
        path, facts = create(tmp_path), [(b"n%d" % number, b"x" * 200) for number in range(200)]
        connection = open_database(path, now=0)
        into = "insert into metadata values (cast(? as text), cast(? as text))"
        connection.executemany(into, facts)
        connection.close()
        whole, found = path.read_bytes(), 0
        for seed in range(200):
            data, place = bytearray(whole), Random(seed).randrange(len(whole) * 8)
            data[place // 8] ^= 1 << place % 8
            path.write_bytes(data)
            try:
                connection = open_database(path, now=0)
            except StoreUnusable as error:
                assert "; " in str(error), "it says what to do"
                found += 1
                continue
            columns = "cast(name as blob), cast(value as blob)"
            try:
                rows = connection.execute(f"select {columns} from metadata").fetchall()
            except apsw.SQLError:  # the name of a column or table
                found += 1
                continue
            finally:
                connection.close()
            assert len(set(facts) - set(rows)) <= 1
            assert len(rows) == len(facts)

        assert found, "in the structure of the file"

    @pytest.mark.fault("F32")
    def test_a_truncated_file_is_refused(self, tmp_path: Path):
        path = create(tmp_path)
        path.write_bytes(path.read_bytes()[:9000])

        assert "restore a backup" in refusal(path)

    @pytest.mark.fault("F32")
    def test_an_empty_file_is_refused(self, tmp_path: Path):
        path = tmp_path / "q.db"
        path.touch()

        assert "the file is empty; restore a backup" in refusal(path)

    @pytest.mark.fault("F32")
    def test_a_text_file_is_refused(self, tmp_path: Path):
        path = tmp_path / "q.db"
        path.write_text("this is no database\n" * 100)

        assert "not a SQLite database" in refusal(path)

    def test_the_database_of_another_program_is_refused(self, tmp_path: Path):
        path = tmp_path / "q.db"
        apsw.Connection(str(path)).execute("create table theirs (id)")

        assert "it belongs to another program" in refusal(path)

    @pytest.mark.fault("F32")
    def test_a_wal_without_its_database_is_refused(self, tmp_path: Path):
        (tmp_path / "q.db-wal").write_bytes(b"x")

        assert "the file is missing, but q.db-wal exists" in refusal(tmp_path / "q.db")
        assert not (tmp_path / "q.db").exists()

    def test_a_read_only_file_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = create(tmp_path)
        path.chmod(stat.S_IRUSR)
        if os.geteuid() == 0:  # root may write whatever its rights say
            monkeypatch.setattr(os, "access", lambda file, mode: mode != os.W_OK)

        assert "the file is read-only; give this user permission" in refusal(path)


class TestLocation:
    def test_a_missing_folder_is_refused(self, tmp_path: Path):
        assert "does not exist; create it" in refusal(tmp_path / "none" / "q.db")

    def test_a_folder_is_refused(self, tmp_path: Path):
        assert "it is a folder" in refusal(tmp_path)

    def test_a_dangling_symbolic_link_is_refused(self, tmp_path: Path):
        link = tmp_path / "q.db"
        link.symlink_to(tmp_path / "not mounted" / "q.db")
        with pytest.raises(StoreUnusable, match="it is a dangling symbolic link; mount its disk"):
            open_database(link, now=0, create=True)

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize(
        "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.sshfs", "fuse.rclone", "vboxsf"]
    )
    def test_a_network_file_system_is_refused(
        self, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ):
        mounts = tmp_path / "mounts"
        mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} {kind} rw 0 0\n")
        monkeypatch.setattr(file, "MOUNTS", mounts)

        reason = refusal(tmp_path / "q.db")

        assert f"it is on a network or FUSE file system ({kind})" in reason
        assert not (tmp_path / "q.db").exists()

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize("kind", ["fuse", "fuse.sshfs"])
    def test_a_mounted_fuse_file_system_is_refused(self, tmp_path: Path, kind: str):
        with fuse_folder(tmp_path / "mounted", kind) as folder:
            assert f"it is on a network or FUSE file system ({kind})" in refusal(folder / "q.db")

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuseblk"])
    def test_a_local_disk_is_accepted(
        self, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ):
        mounts = tmp_path / "mounts"
        mounts.write_text(f"server:/x / nfs rw 0 0\n/dev/sdb {tmp_path} {kind} rw 0 0\n")
        monkeypatch.setattr(file, "MOUNTS", mounts)

        open_database(tmp_path / "q.db", now=0, create=True).close()
        assert (tmp_path / "q.db").exists()

    @pytest.mark.fault("F29")
    def test_a_local_disk_mounted_below_a_network_file_system_is_accepted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        mounts = tmp_path / "mounts"
        spaced = tmp_path / "a b"
        spaced.mkdir()
        escaped = str(spaced).replace(" ", r"\040")
        mounts.write_text(f"server:/x {tmp_path} nfs rw 0 0\n/dev/sdb {escaped} ext4 rw 0 0\n")
        monkeypatch.setattr(file, "MOUNTS", mounts)

        open_database(spaced / "q.db", now=0, create=True)
        assert (spaced / "q.db").exists()
