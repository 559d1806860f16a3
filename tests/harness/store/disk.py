"""A disk under SQLite that remembers every write, cut and sync in its order, and can be full; what
a power cut may leave of what was written to it; and a small disk that is real."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import apsw
import pytest

from harness.store.stored_world import SetClock
from harness.store.stores import Asking, connection
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore

SECTOR = 512
TABLES = (
    "schedules specifications runs attempts output slots_not_run events outbox counters"
    " planner_state"
)


class Deed(NamedTuple):
    what: str
    file: str
    place: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """Below all connections that are opened while it is there."""

    def __init__(self) -> None:
        self.deeds: list[Deed] = []
        self.writes_left: int | None = None
        """How many more there is room for; None, if there is no end of it."""
        super().__init__("remembering", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.deeds.append(Deed("delete", Path(filename).name))
        super().xDelete(filename, syncdir)

    def take_room(self) -> None:
        if self.writes_left is not None:
            if not self.writes_left:
                raise apsw.FullError("no room")
            self.writes_left -= 1


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.take_room()
        self._disk.deeds.append(Deed("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.deeds.append(Deed("cut", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._disk.deeds.append(Deed("sync", self._name))


@contextmanager
def remembering() -> Iterator[Disk]:
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()


def contents(folder: Path) -> dict[str, bytes]:
    """All files but the shared memory, which no power cut leaves behind."""
    return {
        file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")
    }


def left_by_a_power_cut(
    before: Mapping[str, bytes], deeds: Sequence[Deed], chance: Random
) -> dict[str, bytes]:
    """What was synced is there. Of what was not, each write is there, or not, or in part, sector
    by sector, in whatever order; and where a file had just grown there may be anything."""
    safe = {name: bytearray(data) for name, data in before.items()}
    pending: dict[str, list[Deed]] = {}
    for deed in deeds:
        if deed.what == "sync":
            for each in pending.pop(deed.file, []):
                _apply(safe.setdefault(deed.file, bytearray()), each)
        else:
            pending.setdefault(deed.file, []).append(deed)
    kept = chance.random()
    for name, unsure in pending.items():
        _apply_some(safe, name, unsure, chance, kept)
    return {name: bytes(data) for name, data in safe.items()}


def _apply(data: bytearray, deed: Deed) -> None:
    if deed.what == "cut":
        del data[deed.place :]
    elif deed.what == "write":
        data.extend(bytes(max(0, deed.place - len(data))))
        data[deed.place : deed.place + len(deed.data)] = deed.data


def _apply_some(
    safe: dict[str, bytearray], name: str, unsure: list[Deed], chance: Random, kept: float
) -> None:
    data = safe.get(name, bytearray())
    if unsure[-1].what == "delete" and chance.random() < kept:
        safe.pop(name, None)
        return
    for deed in chance.sample(unsure, len(unsure)):
        for part in _parts(deed) if deed.what == "write" else [deed]:
            if chance.random() < kept:
                _apply(data, part)
            elif part.what == "write" and part.place >= len(data) and chance.random() < 0.1:
                _apply(data, part._replace(data=chance.randbytes(len(part.data))))
    safe[name] = data


def _parts(deed: Deed) -> Iterator[Deed]:
    start, end = deed.place, deed.place + len(deed.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield deed._replace(place=start, data=deed.data[start - deed.place : stop - deed.place])
        start = stop


@contextmanager
def asking_on(path: Path, now: int, durability: str = "full") -> Iterator[Asking]:
    """A store on a file that is there, at that instant."""
    clock = SetClock(now)
    database = open_database(path, now=now, durability=durability)
    loop = asyncio.new_event_loop()
    ask = Asking(SqliteStore(database, path, clock, inline=True), clock, loop)
    try:
        yield ask
    finally:
        ask(ask.store.close())
        loop.close()


def state(ask: Asking) -> str:
    """All that is stored, in short."""
    tables = [connection(ask).execute(f"select * from {name}") for name in TABLES.split()]
    return blake2b(repr([table.fetchall() for table in tables]).encode()).hexdigest()


class SmallDisk:
    """Eight MiB, and a file that takes up the room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, *, left: int = 0) -> None:
        """Until only so many bytes are left."""
        self.make_room()
        status = os.statvfs(self.folder)
        size = status.f_bavail * status.f_frsize - left
        with self._filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)

    def make_room(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A real one, mounted there."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"NOT SHOWN HERE: a small disk cannot be mounted: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
