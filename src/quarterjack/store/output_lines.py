"""Stored output as lines with their times and levels, and the gaps in it.

A chunk has marks: at which byte which time and level begin. As text, they are separated by blanks,
and each is the difference to the one before: bytes, milliseconds and level, such as `0,0,20 57,1
80,12,40`. Milliseconds count from `at` of the chunk; what is left out at the end is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from quarterjack.store.types import Chunk
from quarterjack.times.instants import MILLISECOND

_Mark: TypeAlias = tuple[int, int | None, int]
"""A byte of the chunk, and the time and level from there on."""


class Marks:
    """The marks of a chunk that is being written."""

    __slots__ = ("_at", "_level", "_milliseconds", "_offset", "_text", "count")

    def __init__(self, at: int) -> None:
        self._at = at
        self._offset = self._milliseconds = self._level = self.count = 0
        self._text = bytearray()

    def add(self, offset: int, at: int, level: int) -> None:
        """Nothing, if time and level are those of the byte before."""
        milliseconds = (at - self._at) // MILLISECOND
        later, has_changed = milliseconds - self._milliseconds, level != self._level
        if not (later or has_changed):
            return
        self._text += b"%d,%d" % (offset - self._offset, later)
        self._text += b",%d " % level if has_changed else b" "
        self._offset, self._milliseconds, self._level = offset, milliseconds, level
        self.count += 1

    @property
    def text(self) -> str:
        return self._text.decode().rstrip()


class Line(NamedTuple):
    attempt: int
    at: int | None
    """When its first byte was written, if that is known."""
    level: int
    """The number of a level of `logging`; 0 is none."""
    text: str
    """Without the line end; bytes that are not UTF-8 are written like `\\xff`."""


class Gap(NamedTuple):
    """Bytes that were not kept."""

    attempt: int
    omitted: int

    def __str__(self) -> str:
        return f"[{self.omitted} bytes omitted]"


def with_gaps(chunks: Iterable[Chunk]) -> Iterator[Chunk | Gap]:
    """Chunks from the beginning of an attempt, in order."""
    attempt = 0
    end: int | None = None
    for chunk in chunks:
        if chunk.attempt != attempt:
            attempt, end = chunk.attempt, 0
        begin = chunk.position
        if begin is not None and end is not None and begin > end:
            yield Gap(attempt, begin - end)
        yield chunk
        end = None if begin is None else begin + len(chunk.data)


def raw_output(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """What was written, byte for byte; a gap is a line."""
    is_within_line = False
    for each in with_gaps(chunks):
        if isinstance(each, Gap):
            yield b"\n" * is_within_line + f"{each}\n".encode()
        else:
            yield each.data
        is_within_line = isinstance(each, Chunk) and not each.data.endswith(b"\n")


def lines_of(chunks: Iterable[Chunk]) -> Iterator[Line | Gap]:
    """Chunks from the beginning of an attempt, in order. A line has the time and level of its first
    byte, and ends before a gap."""
    attempt, line = 0, bytearray()
    begin: tuple[int | None, int] = None, 0
    for each in with_gaps(chunks):
        if line and (isinstance(each, Gap) or each.attempt != attempt):
            yield _line(attempt, begin, line)
            line = bytearray()
        attempt = each.attempt
        if isinstance(each, Gap):
            yield each
            continue
        for is_end, piece_begin, piece in _pieces(each):
            begin = begin if line else piece_begin
            line += piece
            if is_end:
                yield _line(attempt, begin, line)
                line = bytearray()
    if line:
        yield _line(attempt, begin, line)


def _line(attempt: int, begin: tuple[int | None, int], line: bytearray) -> Line:
    return Line(attempt, *begin, line.decode(errors="backslashreplace").removesuffix("\r"))


def _pieces(chunk: Chunk) -> Iterator[tuple[bool, tuple[int | None, int], bytes]]:
    """The pieces between line ends: does a line end after it, the time and level of its first byte,
    and its text."""
    marks, number, offset = _marks(chunk), 0, 0
    pieces = chunk.data.split(b"\n")
    for count, piece in enumerate(pieces, 1):
        while number + 1 < len(marks) and marks[number + 1][0] <= offset:
            number += 1
        yield count < len(pieces), marks[number][1:], piece
        offset += len(piece) + 1


def _marks(chunk: Chunk) -> list[_Mark]:
    if chunk.marks is None:
        return [(0, None, 0)]
    marks: list[_Mark] = [(0, chunk.at, 0)]
    offset, at, level = 0, chunk.at, 0
    for text in chunk.marks.split():
        passed, later, *changed = map(int, text.split(","))
        offset, at, level = offset + passed, at + later * MILLISECOND, *(changed or [level])
        marks.append((offset, at, level))
    return marks
