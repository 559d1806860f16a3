"""Output of one attempt, in chunks. Of much output only the head and the tail are kept, so that
memory and database stay small whatever the target writes."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.rules import Run
from quarterjack.store.types import Chunk

CHUNK_BYTES = 64 * 1024
HEAD_BYTES = TAIL_BYTES = 512 * 1024


class Output:
    __slots__ = ("_head", "_head_left", "_omitted", "_run", "_sequence", "_tail", "_unstored")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._sequence = 0
        self._head = bytearray()
        self._head_left = HEAD_BYTES
        self._tail = bytearray()
        self._omitted = 0
        self._unstored: list[Chunk] = []

    def write(self, data: bytes) -> None:
        head, rest = data[: self._head_left], data[self._head_left :]
        self._head += head
        self._head_left -= len(head)
        self._tail += rest
        if (surplus := len(self._tail) - TAIL_BYTES) > 0:
            del self._tail[:surplus]
            self._omitted += surplus

    @property
    def waiting_bytes(self) -> int:
        """How much of the head is not stored yet."""
        return len(self._head) + sum(len(chunk.data) for chunk in self._unstored)

    def unstored(self, now: int, *, at_end: bool = False) -> list[Chunk]:
        """What to store now, returned again until `stored` confirms it. The tail is included only
        at the end, because it changes until then."""
        if not self._head and not self._tail:
            return list(self._unstored)
        data = bytes(self._head)
        self._head.clear()
        if at_end:
            if self._omitted:
                data += f"\n[{self._omitted} bytes omitted]\n".encode()
                self._omitted = 0
            data += self._tail
            self._tail.clear()
        for start in range(0, len(data), CHUNK_BYTES):
            self._unstored.append(self._chunk(data[start : start + CHUNK_BYTES], now))
        return list(self._unstored)

    def stored(self, chunks: Sequence[Chunk]) -> None:
        last = max((chunk.sequence for chunk in chunks), default=-1)
        self._unstored = [chunk for chunk in self._unstored if chunk.sequence > last]

    def mark(self) -> list[Chunk]:
        """A short chunk to store in place of all unstored ones when there is no room for them."""
        if not self._unstored:
            return []
        lost = sum(len(chunk.data) for chunk in self._unstored)
        mark = f"\n[{lost} bytes discarded: the disk is full]\n"
        return [self._unstored[0]._replace(data=mark.encode())]

    def discard(self) -> None:
        self._unstored.clear()

    def _chunk(self, data: bytes, now: int) -> Chunk:
        run, sequence = self._run, self._sequence
        self._sequence += 1
        return Chunk(run.schedule_id, run.number, run.attempt, sequence, now, data)
