"""The database file: what it looks like, and each way in which it cannot be used."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import apsw
import pytest

from harness.store.fuse import fuse_folder
from quarterjack.errors import StoreAway, StoreFull, StoreUnusable, Violation
from quarterjack.rules import Run, Schedule
from quarterjack.store.migrations import Migration, migrations
from quarterjack.store.sqlite import file as sqlite_file
from quarterjack.store.sqlite.file import advised, open_database, open_to_read, path_of
from quarterjack.store.statements import SQL_FOLDER, sql

OURS = migrations("sqlite")
LATEST = OURS[-1].number
NEXT = Migration(LATEST + 1, "more", "create table more (id integer primary key);")
LATER = Migration(LATEST + 2, "still_more", "alter table more add column name text;")


def made(folder: Path, name: str = "q.db") -> Path:
    path = folder / name
    open_database(path, now=0, create=True).close()
    return path


def schema(connection: apsw.Connection) -> Any:
    return connection.execute("select type, name, sql from sqlite_schema order by name").fetchall()


class TestSchema:
    def columns(self, connection: apsw.Connection, table: str) -> list[str]:
        return [str(row[1]) for row in connection.execute(f"pragma table_info({table})").fetchall()]

    def test_columns_are_the_fields_of_the_model_in_order(self, tmp_path: Path):
        connection = open_to_read(made(tmp_path))

        beside = {"specification", "last_fired_at", "last_slot", "deleted_at"}
        of_schedules = [name for name in Schedule._fields if name not in beside]
        columns = self.columns(connection, "schedules")
        assert [name for name in columns if name in of_schedules] == of_schedules
        assert self.columns(connection, "runs") == list(Run._fields)

    def test_a_fresh_one_equals_an_old_one_brought_up_to_date(self, tmp_path: Path):
        fresh = open_database(tmp_path / "fresh.db", now=0, create=True, steps=[*OURS, NEXT, LATER])
        for steps in (OURS[:1], OURS, [*OURS, NEXT]):
            open_database(tmp_path / "old.db", now=0, create=True, steps=steps).close()
        steps = [*OURS, NEXT, LATER]
        old = open_database(tmp_path / "old.db", now=0, create=True, steps=steps)

        assert schema(old) == schema(fresh)

    def test_schedules_from_before_urgency_keep_their_priority(self, tmp_path: Path):
        path = tmp_path / "q.db"
        old = open_database(path, now=0, create=True, steps=OURS[:1])
        columns = [name for name in self.columns(old, "schedules") if name not in ("id", "key")]
        for identity in (1, 2):
            values = f"{identity}, 'k{identity}', {', '.join('0' for _ in columns)}"
            old.execute(f"insert into schedules (id, key, {', '.join(columns)}) values ({values})")
        old.execute("""insert into specifications values (1, 0, '', '{"priority": 7}', 0)""")
        old.close()

        new = open_database(path, now=0, create=True)

        assert new.execute("select priority from schedules").fetchall() == [(7,), (0,)]

    def test_an_older_program_refuses_a_newer_database(self, tmp_path: Path):
        path = tmp_path / "q.db"
        open_database(path, now=0, create=True, steps=[*OURS, NEXT]).close()

        with pytest.raises(
            StoreUnusable, match=f"at schema {LATEST + 1}, this program knows {LATEST}; use the"
        ):
            open_database(path, now=0, create=True)

    def test_a_newer_program_asks_before_it_upgrades_for_a_reader(self, tmp_path: Path):
        path = made(tmp_path)

        schemas = f"at schema {LATEST}, this program needs {LATEST + 1}; run `quarterjack db upgr"
        with pytest.raises(StoreUnusable, match=schemas):
            open_database(path, now=0, steps=[*OURS, NEXT])

    def test_a_migration_that_was_changed_later_is_refused(self, tmp_path: Path):
        path = made(tmp_path)
        other = [OURS[0]._replace(text=OURS[0].text + "-- changed"), *OURS[1:]]

        with pytest.raises(StoreUnusable, match="its schema 1 is not ours"):
            open_database(path, now=0, create=True, steps=other)

    @pytest.mark.fault("F9")
    def test_a_migration_that_fails_leaves_the_old_schema(self, tmp_path: Path):
        path = made(tmp_path)
        before = schema(open_to_read(path))
        broken = Migration(LATEST + 1, "broken", "create table more (id integer); create nonsense;")

        with pytest.raises(StoreUnusable):
            open_database(path, now=0, create=True, steps=[*OURS, broken])

        assert schema(open_to_read(path)) == before

    @pytest.mark.fault("F9")
    @pytest.mark.parametrize("place", ["migration.written", "create.written"])
    def test_killed_while_it_is_made_it_is_made_at_the_next_start(self, tmp_path: Path, place: str):
        code = (
            "import sys; from pathlib import Path;"
            "from quarterjack.store.sqlite.file import open_database;"
            "open_database(Path(sys.argv[1]), now=0, create=True)"
        )
        path = tmp_path / "q.db"
        killed = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            env={**os.environ, "QUARTERJACK_CRASH_AT": place},
            check=False,
        )

        assert killed.returncode == -9
        assert not path.exists(), "nobody sees half of a database"
        assert schema(open_database(path, now=0, create=True))

    def test_it_is_as_durable_as_it_was_asked_to_be(self, tmp_path: Path):
        path = made(tmp_path)
        full, normal = 2, 1

        assert open_database(path, now=0).pragma("synchronous") == full
        assert open_database(path, now=0, durability="normal").pragma("synchronous") == normal
        connection = open_database(path, now=0)
        assert connection.pragma("journal_mode") == "wal"
        assert connection.pragma("auto_vacuum") == 2, "incremental"

    def test_people_can_read_it(self, tmp_path: Path):
        connection = open_database(made(tmp_path), now=0)
        connection.execute(
            "insert into slots_not_run values (1, 1794819600000000, 1794819660000000, 2, 'overlap')"
        )

        rows = connection.execute("select * from readable_slots").fetchall()

        said = (None, "overlap", 2, "2026-11-16 09:00:00.000Z", "2026-11-16 09:01:00.000Z")
        assert rows == [said]
        assert connection.execute("select * from readable_runs").fetchall() == []
        assert connection.execute("select * from readable_schedules").fetchall() == []


class TestStatements:
    @pytest.mark.parametrize(
        "file",
        [file for file in sorted(SQL_FOLDER.rglob("*.sql")) if file.parent.name != "postgres"],
        ids=lambda file: file.stem,
    )
    def test_each_file_is_one_statement_whose_values_come_in_order(self, file: Path):
        """SQLite numbers values by their first use, other databases by their names."""
        text = re.sub(r"--.*", "", file.read_text())

        numbers = [int(number) for number in re.findall(r"\$(\d+)", text)]
        assert list(dict.fromkeys(numbers)) == list(range(1, len(set(numbers)) + 1))
        assert ";" not in text

    def test_nothing_is_there_that_nobody_asks(self):
        """The simulation asks one of them."""
        source = Path(sqlite_file.__file__).parents[2]
        files = [*source.glob("store/**/*.py"), *source.glob("sim/*.py")]
        text = "".join(file.read_text() for file in files)
        names = {file.stem for file in SQL_FOLDER.rglob("*.sql")}

        assert {name for name in names if f'"{name}"' not in text} == set()

    def test_a_statement_is_planned_once_whatever_values_it_is_given(self, tmp_path: Path):
        planned_anew: list[int] = []

        def note(finished: dict[str, Any]) -> None:
            planned_anew.append(finished["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"])

        connection = open_database(made(tmp_path), now=0)
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
        for now in range(3):
            connection.execute(sql("due_schedules", "sqlite"), (now, 1000)).fetchall()

        assert planned_anew == [0, 0, 0]


class TestNobodyElse:
    @pytest.mark.fault("F34")
    def test_opens_the_file_while_sqlite_has_it(self, tmp_path: Path):
        """Whoever closes it drops SQLite's locks, all that this process holds."""
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, str(tmp_path / "q.db")],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

        assert done.stdout.split() == ["q.yaml", "q.db"], done.stderr[-2000:]


WATCHED = """
import asyncio, os, sys
from pathlib import Path
from quarterjack.clock import SystemClock
from quarterjack.declare.declaration import read_declaration
from quarterjack.engine.node import Node
from quarterjack.declare.apply import apply
from quarterjack.store.reader import Reader
from quarterjack.service import open_store, targets

path, opened, clock = Path(sys.argv[1]), [], SystemClock()
file = path.with_name("q.yaml")
file.write_text("schedules: {a: {every: 1h, first_run: now, command: [echo, hello]}}")

async def lived():
    store = await open_store(f"sqlite:///{path}", clock)
    sys.addaudithook(lambda event, values: event == "open" and opened.append(str(values[0])))
    declaration = read_declaration(file)
    await apply(store, declaration, clock.now())
    node = Node(store, targets({}), clock, declaration.node_config("w"))
    running = asyncio.create_task(node.run())
    reads = Reader(f"sqlite:///{path}")
    while not [run for run in reads.runs() if run.run.finished_at]:
        await asyncio.sleep(0.02)
    await store.shorten_log()
    await store.give_back_space()
    node.stop()
    await running
    reads.close()
    await store.close()
    os.close(os.open(path, os.O_RDONLY))  # so that we see that it would be seen

asyncio.run(lived())
print(*(Path(name).name for name in opened if name.startswith(str(path.parent))))
"""


class TestBadLuck:
    def test_a_link_to_nothing_is_told(self, tmp_path: Path):
        link = tmp_path / "q.db"
        link.symlink_to(tmp_path / "not mounted" / "q.db")
        with pytest.raises(StoreUnusable, match="it is a link to nothing; mount the disk"):
            open_database(link, now=0, create=True)

    def test_two_programs_that_upgrade_at_once_both_succeed(self, tmp_path: Path):
        """The second one waits, and finds nothing left to do."""
        path = tmp_path / "q.db"
        open_database(path, now=0, create=True, steps=OURS[:1]).close()
        code = (
            "import sys; from pathlib import Path;"
            "from quarterjack.store.sqlite.file import open_database;"
            "sys.stdin.readline(); open_database(Path(sys.argv[1]), now=0, create=True)"
        )
        both = [
            subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE)
            for _ in range(2)
        ]
        for each in both:
            assert each.stdin is not None
            each.stdin.close()
        assert [each.wait(20) for each in both] == [0, 0]

    def refused(self, path: Path, **words: object) -> str:
        before = path.read_bytes() if path.is_file() else None
        with pytest.raises(StoreUnusable) as refusal:
            open_database(path, now=0, create=True, **words)
        assert (path.read_bytes() if path.is_file() else None) == before, "nothing was changed"
        message = str(refusal.value)
        assert message.startswith(f"database {path}: ")
        assert "; " in message, "it says what to do"
        return message

    @pytest.mark.fault("F32")
    def test_damaged_pages_are_found_at_the_start(self, tmp_path: Path):
        path = made(tmp_path)
        data = bytearray(path.read_bytes())
        for place in range(4096, len(data), 4096):
            data[place : place + 64] = os.urandom(64)
        path.write_bytes(data)

        assert "damaged" in self.refused(path)

    @pytest.mark.fault("F32")
    def test_a_flipped_bit_is_found_or_harms_no_row_but_its_own(self, tmp_path: Path):
        """There are no checksums: inside a value it cannot be seen. Elsewhere it is, or it is of no
        consequence; and never is the database taken for an empty one."""
        path, facts = made(tmp_path), [(b"n%d" % number, b"x" * 200) for number in range(200)]
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
            except apsw.SQLError:  # the name of a column or table: whoever asks for it is told
                found += 1
                continue
            finally:
                connection.close()
            assert len(set(facts) - set(rows)) <= 1
            assert len(rows) == len(facts)

        assert found, "where it tells where things are"

    @pytest.mark.fault("F32")
    def test_a_file_that_was_cut_short(self, tmp_path: Path):
        path = made(tmp_path)
        path.write_bytes(path.read_bytes()[:9000])

        assert "restore a backup" in self.refused(path)

    @pytest.mark.fault("F32")
    def test_an_empty_file_is_not_taken_for_a_new_one(self, tmp_path: Path):
        path = tmp_path / "q.db"
        path.touch()

        assert "the file is empty; restore a backup" in self.refused(path)

    @pytest.mark.fault("F32")
    def test_a_text_file(self, tmp_path: Path):
        path = tmp_path / "q.db"
        path.write_text("this is no database\n" * 100)

        assert "it is not a SQLite database" in self.refused(path)

    def test_the_database_of_another_program(self, tmp_path: Path):
        path = tmp_path / "q.db"
        apsw.Connection(str(path)).execute("create table theirs (id)")

        assert "it is another program's" in self.refused(path)

    @pytest.mark.fault("F32")
    def test_a_log_without_its_database_is_not_taken_for_a_new_one(self, tmp_path: Path):
        (tmp_path / "q.db-wal").write_bytes(b"x")

        assert "it is gone, but q.db-wal is there" in self.refused(tmp_path / "q.db")
        assert not (tmp_path / "q.db").exists()

    def test_no_folder(self, tmp_path: Path):
        assert "does not exist; create it" in self.refused(tmp_path / "none" / "q.db")

    def test_a_folder_instead_of_a_file(self, tmp_path: Path):
        assert "that is a folder" in self.refused(tmp_path)

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize(
        "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.sshfs", "fuse.rclone", "vboxsf"]
    )
    def test_a_network_file_system(self, tmp_path: Path, kind: str):
        mounts = tmp_path / "mounts"
        mounts.write_text(f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} {kind} rw 0 0\n")

        said = self.refused(tmp_path / "q.db", mounts=mounts)

        assert f"it is on a file system of another host or program ({kind})" in said
        assert not (tmp_path / "q.db").exists()

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize("kind", ["fuse", "fuse.sshfs"])
    def test_a_real_file_system_of_another_program(self, tmp_path: Path, kind: str):
        with fuse_folder(tmp_path / "mounted", kind) as folder:
            assert f"it is on a file system of another host or program ({kind})" in self.refused(
                folder / "q.db"
            )

    @pytest.mark.fault("F29")
    @pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuseblk"])
    def test_a_local_disk_is_fine(self, tmp_path: Path, kind: str):
        mounts = tmp_path / "mounts"
        mounts.write_text(f"server:/x / nfs rw 0 0\n/dev/sdb {tmp_path} {kind} rw 0 0\n")

        open_database(tmp_path / "q.db", now=0, create=True, mounts=mounts).close()
        assert (tmp_path / "q.db").exists()

    @pytest.mark.fault("F29")
    def test_a_local_disk_below_a_network_file_system_is_fine(self, tmp_path: Path):
        mounts = tmp_path / "mounts"
        spaced = tmp_path / "a b"
        spaced.mkdir()
        escaped = str(spaced).replace(" ", r"\040")
        mounts.write_text(f"server:/x {tmp_path} nfs rw 0 0\n/dev/sdb {escaped} ext4 rw 0 0\n")

        open_database(spaced / "q.db", now=0, create=True, mounts=mounts)
        assert (spaced / "q.db").exists()

    def test_a_file_that_can_only_be_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = made(tmp_path)
        path.chmod(stat.S_IRUSR)
        if os.geteuid() == 0:  # root may write whatever its rights say
            monkeypatch.setattr(os, "access", lambda file, mode: mode != os.W_OK)

        assert "it can only be read; give this user the right" in self.refused(path)

    def test_reading_never_makes_one(self, tmp_path: Path):
        with pytest.raises(StoreUnusable, match="there is none; start `quarterjack up` once"):
            open_to_read(tmp_path / "q.db")
        assert list(tmp_path.iterdir()) == []

    def test_a_reader_cannot_write(self, tmp_path: Path):
        connection = open_to_read(made(tmp_path))

        with pytest.raises(apsw.ReadOnlyError):
            connection.execute("delete from runs")

    def test_an_address_that_is_not_understood(self):
        assert path_of("sqlite:///a/b.db") == Path("a/b.db")
        assert path_of("sqlite:////a/b.db") == Path("/a/b.db")
        for wrong in ("mysql://x", "q.db", "sqlite:///", "sqlite://q.db"):
            with pytest.raises(StoreUnusable, match=r"write sqlite:///quarterjack\.db"):
                path_of(wrong)

    @pytest.mark.parametrize(
        ("error", "kind", "said"),
        [
            (apsw.BusyError("busy"), StoreAway, "another program has locked it"),
            (apsw.FullError("full"), StoreFull, "the disk is full"),
            (apsw.IOError("io"), StoreAway, "the disk does not answer as it should"),
            (apsw.CorruptError("bad"), StoreUnusable, "it is damaged"),
            (apsw.CantOpenError("no"), StoreUnusable, "it cannot be opened"),
            (apsw.SQLError("odd"), Violation, "please report this"),
        ],
    )
    def test_each_error_of_sqlite_is_told_in_our_words(
        self, error: apsw.Error, kind: type, said: str
    ):
        told = advised(error, Path("q.db"))

        assert isinstance(told, kind)
        assert said in str(told)

    def test_two_who_make_it_at_once_make_one(self, tmp_path: Path):
        code = (
            "import sys; from pathlib import Path;"
            "from quarterjack.store.sqlite.file import open_database;"
            "open_database(Path(sys.argv[1]), now=0, create=True)"
        )
        path = tmp_path / "q.db"
        both = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(4)]

        assert [each.wait() for each in both] == [0] * 4
        assert sorted(file.name for file in tmp_path.iterdir()) == ["q.db"]
