"""A minimal FUSE file system: an empty folder, really mounted."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

LOOKUP, FORGET, GETATTR, INIT = 1, 2, 3, 26
_FOLDER = 0o40755
_REQUEST = struct.Struct("=IIQQIIII")


@contextmanager
def fuse_folder(folder: Path, kind: str) -> Iterator[Path]:
    """An empty folder on a file system of this type, such as `fuse.sshfs`."""
    folder.mkdir()
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"NOT SHOWN HERE: no /dev/fuse: {error}")
    try:
        _mount(folder, kind, f"fd={device},rootmode=40000,user_id=0,group_id=0")
    except OSError as error:
        os.close(device)
        pytest.skip(f"NOT SHOWN HERE: a FUSE file system cannot be mounted: {error}")
    serving = threading.Thread(target=_serve, args=(device,), daemon=True)
    serving.start()
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        serving.join(10)
        os.close(device)


def _mount(folder: Path, kind: str, options: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"test", os.fsencode(folder), kind.encode(), 0, options.encode()):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _serve(device: int) -> None:
    with suppress(OSError):  # unmounted
        while True:
            _, opcode, unique, *_ = _REQUEST.unpack_from(os.read(device, 1 << 18))
            if opcode != FORGET:
                error, data = _answer(opcode)
                os.write(device, struct.pack("=IiQ", 16 + len(data), -error, unique) + data)


def _answer(opcode: int) -> tuple[int, bytes]:
    if opcode == INIT:
        return 0, struct.pack("=IIIIHHII36x", 7, 31, 0, 0, 0, 0, 4096, 1)
    if opcode == GETATTR:
        return 0, struct.pack("=QII6Q3I7I", 60, 0, 0, 1, *[0] * 8, _FOLDER, 2, *[0] * 5)
    return (errno.ENOENT if opcode == LOOKUP else errno.ENOSYS), b""
