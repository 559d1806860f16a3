"""What a task process adds to its output, in the same stream, so that the order is kept: where the
output of a call begins, and log lines with their levels. Such a part is framed by two control
characters; everything else is plain output."""

from __future__ import annotations

import re
from collections.abc import Callable

from quarterjack.targets.call import WriteOutput

_BEGIN, _END = b"\x1e", b"\x1f"
_FRAME = re.compile(rb"\x1e(\d\d)([^\x1e\x1f]*)\x1f")
_FRAMING = re.compile(rb"[\x1e\x1f]")
_FRAME_MAX = 256 * 1024
_CALL = 0
"""Stands where a level would, before the number of a call."""


def framed(line: bytes, level: int) -> bytes:
    """
    >>> framed(b"disk is low", 30)
    b'\\x1e30disk is low\\x1f'
    """
    text = _FRAMING.sub(b"?", line)[: _FRAME_MAX - 10]
    return b"%b%02d%b%b" % (_BEGIN, max(1, min(level, 99)), text, _END)


def beginning_of(number: int) -> bytes:
    """The output of the call with this number follows."""
    return b"%b%02d%d%b" % (_BEGIN, _CALL, number, _END)


class LeveledLines:
    """Takes apart again what was read, in pieces of any size."""

    def __init__(self, write: WriteOutput, begin: Callable[[int], None]) -> None:
        self._write = write
        self._begin = begin
        self._waiting = b""
        """The beginning of a frame whose end was not read yet."""

    def feed(self, data: bytes) -> None:
        if not self._waiting and _BEGIN not in data:
            self._write(data)
            return
        data = self._waiting + data
        at = 0
        for frame in _FRAME.finditer(data):
            self._plain(data[at : frame.start()])
            self._framed(int(frame[1]), frame[2])
            at = frame.end()
        rest = data[at:]
        begin = rest.rfind(_BEGIN)
        is_open = begin >= 0 and _END not in rest[begin:] and len(rest) - begin <= _FRAME_MAX
        plain, self._waiting = (rest[:begin], rest[begin:]) if is_open else (rest, b"")
        self._plain(plain)

    def _framed(self, level: int, text: bytes) -> None:
        if level != _CALL:
            self._write(text, level)
        elif text.isdigit():
            self._begin(int(text))

    def _plain(self, data: bytes) -> None:
        if data:
            self._write(data)

    def flush(self) -> None:
        """Nothing more will be read."""
        waiting, self._waiting = self._waiting, b""
        self._plain(waiting)
