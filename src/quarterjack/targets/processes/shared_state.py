"""What a worker and a task process both see at any moment, without a message: which call is under
way, which were taken back before they began, until when it may work, and whether it was cancelled.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WORD = struct.Struct("<q")
_BEGUN, _TAKEN_BACK, _CANCELLED, _DEADLINE = range(4)
_NONE = -1


class SharedState:
    """Four numbers in a file that both have mapped. Calls have numbers, in their order."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._memory = mmap.mmap(descriptor, 4 * _WORD.size)

    @staticmethod
    def create() -> tuple[SharedState, Path]:
        """The path is for the other process, and can be removed once that has opened it."""
        descriptor, path = tempfile.mkstemp(prefix="quarterjack-")
        try:
            # Written, not truncated: on a full disk, the first use of a hole kills the process.
            os.write(descriptor, bytes(4 * _WORD.size))
        except OSError:
            os.close(descriptor)
            os.unlink(path)  # noqa: PTH108
            raise
        return SharedState(descriptor), Path(path)

    @staticmethod
    def open(path: str) -> SharedState:
        return SharedState(os.open(path, os.O_RDWR | os.O_CLOEXEC))

    def begin(self, number: int, deadline: int | None) -> bool:
        """Unless the call was taken back."""
        with self._locked(fcntl.LOCK_EX):
            if number <= self._read(_TAKEN_BACK):
                return False
            self._write(_BEGUN, number)
        self.deadline = deadline
        return True

    def take_back(self, until: int) -> int:
        """All calls up to this number that have not begun. Returns the last one that has."""
        try:
            with self._locked(fcntl.LOCK_EX | fcntl.LOCK_NB):
                self._write(_TAKEN_BACK, until)
                return self.begun
        except BlockingIOError:  # one begins in this moment
            return until

    @property
    def begun(self) -> int:
        return self._read(_BEGUN)

    @property
    def deadline(self) -> int | None:
        deadline = self._read(_DEADLINE)
        return None if deadline == _NONE else deadline

    @deadline.setter
    def deadline(self, instant: int | None) -> None:
        self._write(_DEADLINE, _NONE if instant is None else instant)

    def cancel(self, number: int) -> None:
        self._write(_CANCELLED, number)

    @property
    def is_cancelled(self) -> bool:
        """The call that is under way."""
        return self._read(_CANCELLED) == self.begun

    def close(self) -> None:
        self._memory.close()
        os.close(self._descriptor)

    def _read(self, place: int) -> int:
        (value,) = _WORD.unpack_from(self._memory, place * _WORD.size)
        return int(value)

    def _write(self, place: int, value: int) -> None:
        _WORD.pack_into(self._memory, place * _WORD.size, value)

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        fcntl.lockf(self._descriptor, how)
        try:
            yield
        finally:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
