"""Disk faults for SQLite: a VFS that records every write, truncation and sync, and can be full;
what a power cut may leave of the recorded operations; and a small file system to fill."""

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

from harness.store.stored_world import ManualClock
from harness.store.stores import StoreClient, connection
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.targets.kinds import KINDS

SECTOR = 512
TABLES = (
    "schedules specifications runs attempts output slots_not_run events outbox counters"
    " planner_state"
)


class DiskOperation(NamedTuple):
    kind: str
    file: str
    place: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """The VFS of all connections that are opened while it is registered."""

    def __init__(self) -> None:
        self.operations: list[DiskOperation] = []
        self.writes_left: int | None = None
        """How many more writes fit; None for unlimited."""
        super().__init__("recording", "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.operations.append(DiskOperation("delete", Path(filename).name))
        super().xDelete(filename, syncdir)

    def use_space(self) -> None:
        if self.writes_left is not None:
            if not self.writes_left:
                raise apsw.FullError("no space")
            self.writes_left -= 1


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._name = Path(name.filename() if isinstance(name, apsw.URIFilename) else name).name
        super().__init__("unix", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.use_space()
        self._disk.operations.append(DiskOperation("write", self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.operations.append(DiskOperation("truncate", self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        self._disk.operations.append(DiskOperation("sync", self._name))


@contextmanager
def recording_disk() -> Iterator[Disk]:
    disk = Disk()
    try:
        yield disk
    finally:
        disk.unregister()


def contents(folder: Path) -> dict[str, bytes]:
    """All files except shared memory, which does not survive a power cut."""
    return {
        file.name: file.read_bytes() for file in folder.iterdir() if not file.name.endswith("-shm")
    }


def after_power_cut(
    before: Mapping[str, bytes], operations: Sequence[DiskOperation], random: Random
) -> dict[str, bytes]:
    """Synced operations are applied. Of the others, each sector of each write may be applied or
    not, in any order; where a file has grown, a sector may contain garbage."""
    files = {name: bytearray(data) for name, data in before.items()}
    pending: dict[str, list[DiskOperation]] = {}
    for operation in operations:
        if operation.kind == "sync":
            for each in pending.pop(operation.file, []):
                _apply(files.setdefault(operation.file, bytearray()), each)
        else:
            pending.setdefault(operation.file, []).append(operation)
    kept = random.random()
    for name, unsynced in pending.items():
        _apply_some(files, name, unsynced, random, kept)
    return {name: bytes(data) for name, data in files.items()}


def _apply(data: bytearray, operation: DiskOperation) -> None:
    if operation.kind == "truncate":
        del data[operation.place :]
    elif operation.kind == "write":
        data.extend(bytes(max(0, operation.place - len(data))))
        data[operation.place : operation.place + len(operation.data)] = operation.data


def _apply_some(
    files: dict[str, bytearray],
    name: str,
    unsynced: list[DiskOperation],
    random: Random,
    kept: float,
) -> None:
    data = files.get(name, bytearray())
    if unsynced[-1].kind == "delete" and random.random() < kept:
        files.pop(name, None)
        return
    for operation in random.sample(unsynced, len(unsynced)):
        for part in _parts(operation) if operation.kind == "write" else [operation]:
            if random.random() < kept:
                _apply(data, part)
            elif part.kind == "write" and part.place >= len(data) and random.random() < 0.1:
                _apply(data, part._replace(data=random.randbytes(len(part.data))))
    files[name] = data


def _parts(operation: DiskOperation) -> Iterator[DiskOperation]:
    start, end = operation.place, operation.place + len(operation.data)
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        yield operation._replace(
            place=start, data=operation.data[start - operation.place : stop - operation.place]
        )
        start = stop


@contextmanager
def client_on(path: Path, now: int, durability: str = "full") -> Iterator[StoreClient]:
    """A store on an existing file, at this instant."""
    clock = ManualClock(now)
    database = open_database(path, now=now, durability=durability)
    loop = asyncio.new_event_loop()
    client = StoreClient(SqliteStore(database, path, clock, KINDS, inline=True), clock, loop)
    try:
        yield client
    finally:
        client(client.store.close())
        loop.close()


def state(client: StoreClient) -> str:
    """A hash of everything that is stored."""
    tables = [connection(client).execute(f"select * from {name}") for name in TABLES.split()]
    return blake2b(repr([table.fetchall() for table in tables]).encode()).hexdigest()


class SmallDisk:
    """Eight MiB, filled by one large file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, *, left: int = 0) -> None:
        """Leave only so many bytes free."""
        self.free_space()
        status = os.statvfs(self.folder)
        size = status.f_bavail * status.f_frsize - left
        with self._filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)

    def free_space(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A tmpfs, mounted at this folder."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"NOT SHOWN HERE: cannot mount a small disk: {done.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
