"""What one attempt reports while it runs: its output, and its progress.

Output is cut into chunks, each with marks that say when its parts were written and at which level.
Of much output only the first and the last 512 KiB are kept, in memory as in the store: chunks that
leave the last 512 KiB are dropped if they are not stored yet, and else deleted with the next ones
that are stored. So the store has what a reader wants to see at any time, and nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quarterjack.rules import Run
from quarterjack.store.output_lines import Marks
from quarterjack.store.types import Chunk, ExpiredChunks, Progress, Reports

CHUNK_BYTES = 64 * 1024
HEAD_BYTES = TAIL_BYTES = 512 * 1024
MARKS_MAX = 4096
"""Per chunk, so that many short lines take little memory."""
_GROUP_BYTES = 8 * 1024
"""Smaller chunks of the tail are deleted together, so that few numbers have to be remembered."""


class _Part:
    """A chunk that is being written, or waits to be stored."""

    __slots__ = ("at", "data", "marks", "position", "room")

    def __init__(self, position: int, at: int) -> None:
        self.position = position
        self.at = at
        self.data = bytearray()
        self.marks = Marks(at)
        self.room = CHUNK_BYTES
        """For so many bytes more. Head and tail never share a part."""
        if position < HEAD_BYTES:
            self.room = min(CHUNK_BYTES, HEAD_BYTES - position)

    def append(self, data: bytes | memoryview, level: int, at: int) -> None:
        self.marks.add(len(self.data), at, level)
        self.data += data
        self.room = self.room - len(data) if self.marks.count < MARKS_MAX else 0


class Output:
    __slots__ = (
        "_expired_from", "_groups", "_head", "_part", "_position", "_progress", "_run", "_sequence",
        "_tail", "_taken", "_unconfirmed", "_unstored_progress",
    )  # fmt: skip

    def __init__(self, run: Run) -> None:
        self._run = run
        self._position = self._taken = 0
        """How much was written, and how much of that was made into chunks or dropped."""
        self._part: _Part | None = None
        """The last part, if more can be written into it."""
        self._head: list[_Part] = []
        self._tail: list[_Part] = []
        self._unconfirmed: list[Chunk] = []
        self._sequence = self._expired_from = 0
        self._groups: list[tuple[int, int]] = []
        """The chunks of the tail that were to be stored, some together: the number of the first,
        and where it begins."""
        self._progress: Progress | None = None
        self._unstored_progress: Progress | None = None

    def write(self, data: bytes, level: int, at: int) -> bool:
        """Whether the recorder has something to do: this is the first that waits, or with it much
        of the head waits."""
        had_waiting, waiting = self.is_waiting, self._position - self._taken
        part = self._part
        if part is not None and len(data) <= part.room:
            part.append(data, level, at)
            self._position += len(data)
        elif data:
            self._write_parts(memoryview(data), level, at)
        while self._tail and self._tail[0].position < self._position - TAIL_BYTES:
            del self._tail[0]
        if waiting < CHUNK_BYTES <= self._position - self._taken:
            return self.has_full_chunk or not had_waiting
        return bool(data) and not had_waiting

    def report(self, fraction: float, text: str, at: int) -> bool:
        """Takes the progress; the result is as of `write`."""
        return self._report(at=at, fraction=fraction, text=text)

    def extend(self, times_out_at: int | None, at: int) -> bool:
        """Takes a new timeout; the result is as of `write`."""
        return self._report(
            at=self._progress.at if self._progress else at, times_out_at=times_out_at
        )

    @property
    def is_waiting(self) -> bool:
        """There is something that is not stored."""
        is_stored = self._position == self._taken and not self._unconfirmed
        return not is_stored or self._unstored_progress is not None

    @property
    def has_full_chunk(self) -> bool:
        """So much of the head is waiting that it should be stored at once."""
        return min(self._position, HEAD_BYTES) - min(self._taken, HEAD_BYTES) >= CHUNK_BYTES

    def unstored(self, *, at_end: bool = False) -> Reports:
        """What to store now. It is returned again until `stored` confirms it, and nothing newer
        before that, except at the end."""
        if at_end or not self._unconfirmed:
            self._make_chunks()
        progress = (self._unstored_progress,) if self._unstored_progress else ()
        return Reports(tuple(self._unconfirmed), self._expired(), progress)

    def stored(self, reports: Reports) -> None:
        """These, as `unstored` has returned them, are in the store."""
        if reports.chunks:
            last = reports.chunks[-1].sequence
            self._unconfirmed = [each for each in self._unconfirmed if each.sequence > last]
        for expired in reports.expired:
            self._expired_from = max(self._expired_from, expired.until)
        if self._unstored_progress in reports.progress:
            self._unstored_progress = None

    def mark(self) -> list[Chunk]:
        """A short chunk to store in place of all unstored ones when there is no room for them."""
        if not self._unconfirmed:
            return []
        lost = sum(len(chunk.data) for chunk in self._unconfirmed)
        mark = f"\n[{lost} bytes discarded: the disk is full]\n".encode()
        return [self._unconfirmed[0]._replace(data=mark, position=None, marks=None)]

    def discard(self) -> None:
        self._unconfirmed.clear()
        self._unstored_progress = None

    def _report(self, **fields: Any) -> bool:
        had_waiting = self.is_waiting
        last = self._progress or Progress(*self._identity, 0)
        self._progress = self._unstored_progress = last._replace(**fields)
        return not had_waiting

    @property
    def _identity(self) -> tuple[int, int, int]:
        run = self._run
        return run.schedule_id, run.number, run.attempt

    def _write_parts(self, data: memoryview, level: int, at: int) -> None:
        while data:
            surplus = len(data) - TAIL_BYTES
            if surplus > 0 and self._position >= HEAD_BYTES:
                self._part = None
                self._position += surplus
                data = data[surplus:]
            part = self._part
            if part is None or not part.room:
                part = self._part = _Part(self._position, at)
                (self._head if self._position < HEAD_BYTES else self._tail).append(part)
            piece = data[: part.room]
            part.append(piece, level, at)
            self._position += len(piece)
            data = data[len(piece) :]

    def _make_chunks(self) -> None:
        self._unconfirmed += map(self._chunk, self._head)
        if self._tail:
            self._make_tail()
        self._head, self._tail, self._part = [], [], None
        self._taken = self._position

    def _make_tail(self) -> None:
        if not self._groups:
            self._expired_from = self._sequence
        for part in self._tail:
            chunk, end = self._chunk(part), part.position + len(part.data)
            self._unconfirmed.append(chunk)
            if not self._groups or end - self._groups[-1][1] > _GROUP_BYTES:
                self._groups.append((chunk.sequence, part.position))
        kept_from = self._position - TAIL_BYTES
        while self._groups[0][1] < kept_from:
            del self._groups[0]
        first_kept = self._groups[0][0]
        self._unconfirmed = [
            each
            for each in self._unconfirmed
            if each.sequence < self._expired_from or each.sequence >= first_kept
        ]

    def _chunk(self, part: _Part) -> Chunk:
        sequence = self._sequence
        self._sequence += 1
        data, marks = bytes(part.data), part.marks.text
        return Chunk(*self._identity, sequence, part.at, data, part.position, marks)

    def _expired(self) -> tuple[ExpiredChunks, ...]:
        """The chunks of the tail that are or may be stored, and are not among the last ones."""
        if not self._groups or self._groups[0][0] <= self._expired_from:
            return ()
        return (ExpiredChunks(*self._identity, self._expired_from, self._groups[0][0]),)


def combined(reports: Iterable[Reports]) -> Reports:
    """The reports of several attempts, for one call of the store."""
    chunks: list[Chunk] = []
    expired: list[ExpiredChunks] = []
    progress: list[Progress] = []
    for each in reports:
        chunks += each.chunks
        expired += each.expired
        progress += each.progress
    return Reports(chunks, expired, progress)
