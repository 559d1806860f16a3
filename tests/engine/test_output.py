"""Output of an attempt: what the store has of it at any time, and what a follower sees."""

from __future__ import annotations

import tracemalloc
from bisect import bisect_right
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from quarterjack.engine.output import CHUNK_BYTES, HEAD_BYTES, MARKS_MAX, TAIL_BYTES, Output
from quarterjack.rules import Kind, Run
from quarterjack.store.output_lines import Gap, _marks, with_gaps
from quarterjack.store.types import Chunk, Progress, Reports
from quarterjack.times.instants import MILLISECOND

RUN = Run(1, 0, Kind.SLOT, 0, 0, 0, "1", attempt=1)
WHOLE = Random(1).randbytes(6 * 2**20)
TAIL_BYTES_MIN = TAIL_BYTES - CHUNK_BYTES


class Stored:
    """What is stored of an attempt, and what somebody who follows it has seen."""

    def __init__(self) -> None:
        self.output = Output(RUN)
        self.by_sequence: dict[int, Chunk] = {}
        self.progress: list[Progress] = []
        self.seen: list[Chunk] = []
        self.written = 0
        self.marks: list[tuple[int, int, int]] = []
        """Where each write began, its time and its level."""

    def write(self, size: int, level: int = 0, at: int = 0) -> bool:
        data = WHOLE[self.written : self.written + size]
        if data:
            self.marks.append((self.written, at, level))
        self.written += len(data)
        return self.output.write(data, level, at)

    def flush(self, end: str = "confirmed", *, at_end: bool = False) -> None:
        reports = self.output.unstored(at_end=at_end)
        if end != "failed":
            self.store(reports)
        if end == "confirmed":
            self.output.stored(reports)

    def store(self, reports: Reports) -> None:
        for chunk in reports.chunks:
            self.by_sequence.setdefault(chunk.sequence, chunk)
        for expired in reports.expired:
            for sequence in range(expired.first, expired.until):
                self.by_sequence.pop(sequence, None)
        self.progress += reports.progress
        last = self.seen[-1].sequence if self.seen else -1
        self.seen += [chunk for chunk in self.chunks if chunk.sequence > last]

    @property
    def chunks(self) -> list[Chunk]:
        return [self.by_sequence[sequence] for sequence in sorted(self.by_sequence)]


def begin_of(chunk: Chunk) -> int:
    assert chunk.position is not None
    return chunk.position


def size(chunks: list[Chunk]) -> int:
    return sum(len(chunk.data) for chunk in chunks)


WRITES = some.tuples(
    some.just("write"),
    some.one_of(
        some.integers(0, 300), some.integers(0, 2**17), some.sampled_from([65536, 2**19, 2**21])
    ),
    some.sampled_from([0, 0, 20, 40]),
    some.integers(-1, 3),
)
FLUSHES = some.tuples(some.just("flush"), some.sampled_from(["confirmed", "lost", "failed"]))


@settings(max_examples=150, deadline=None)
@given(some.lists(some.one_of(WRITES, WRITES, FLUSHES), max_size=40))
def test_the_store_has_the_head_and_the_tail_of_the_whole_and_nothing_twice(steps: list[object]):
    stored, now = Stored(), 10**9
    for step in steps:
        match step:
            case ("write", int(count), int(level), int(later)):
                now += later * MILLISECOND
                stored.write(count, level, now)
            case ("flush", str(end)):
                stored.flush(end)
        assert size(stored.chunks) <= HEAD_BYTES + TAIL_BYTES
    stored.flush(at_end=True)

    for chunk in stored.seen:
        assert chunk.data == WHOLE[begin_of(chunk) :][: len(chunk.data)]
        assert 0 < len(chunk.data) <= CHUNK_BYTES
        check_marks(chunk, stored.marks)
    ends = [begin_of(chunk) + len(chunk.data) for chunk in stored.seen]
    assert all(begin_of(chunk) >= end for chunk, end in zip(stored.seen[1:], ends, strict=False))
    head = [chunk for chunk in stored.chunks if begin_of(chunk) < HEAD_BYTES]
    tail = size(stored.chunks) - size(head)
    assert size(head) == min(stored.written, HEAD_BYTES)
    assert tail <= TAIL_BYTES
    assert tail >= min(stored.written - size(head), TAIL_BYTES_MIN)
    assert not stored.output.is_waiting
    check_gaps(stored)


def check_gaps(stored: Stored) -> None:
    """Every gap is exact, so that together with the chunks it is the whole."""
    data = b""
    for each in with_gaps(stored.chunks):
        data += WHOLE[len(data) :][: each.omitted] if isinstance(each, Gap) else each.data
    assert data == WHOLE[: stored.written]


def check_marks(chunk: Chunk, written: list[tuple[int, int, int]]) -> None:
    """The first byte of each write that is in this chunk has its time and level."""
    begin, marks = begin_of(chunk), _marks(chunk)
    number = bisect_right([place for place, *_ in written], begin) - 1
    for place, at, level in written[number:]:
        if place >= begin + len(chunk.data):
            break
        offset = max(place - begin, 0)
        (_, found_at, found_level) = [mark for mark in marks if mark[0] <= offset][-1]
        assert found_at is not None
        assert (found_at // MILLISECOND, found_level) == (at // MILLISECOND, level)


def test_a_failed_store_call_is_repeated_with_the_same_chunks_and_loses_nothing():
    stored = Stored()
    stored.write(3)
    stored.flush("failed")
    stored.write(3)
    assert [chunk.data for chunk in stored.output.unstored().chunks] == [WHOLE[:3]]

    stored.flush()
    stored.flush()

    assert [chunk.data for chunk in stored.chunks] == [WHOLE[:3], WHOLE[3:6]]


def test_what_could_not_be_stored_and_is_outdated_is_not_stored_any_more():
    stored = Stored()
    stored.write(HEAD_BYTES)
    stored.flush()
    stored.write(100)
    stored.flush("failed")
    stored.write(TAIL_BYTES)

    reports = stored.output.unstored(at_end=True)

    assert size(list(reports.chunks)) == TAIL_BYTES


def test_while_a_store_call_is_under_way_the_end_has_everything():
    stored = Stored()
    stored.write(3)
    under_way = stored.output.unstored()
    stored.write(3)
    last = stored.output.unstored(at_end=True)

    stored.store(under_way)
    stored.store(last)

    assert [chunk.data for chunk in stored.chunks] == [WHOLE[:3], WHOLE[3:6]]


def test_the_recorder_is_needed_for_the_first_bytes_and_for_a_full_chunk_of_the_head_only():
    stored = Stored()
    assert stored.write(1)
    assert not stored.write(1)
    assert stored.write(CHUNK_BYTES)
    stored.write(HEAD_BYTES)
    stored.flush()

    assert stored.write(1)
    assert not stored.write(2 * CHUNK_BYTES)


def test_slow_output_needs_few_numbers_to_remember_its_chunks():
    stored = Stored()
    stored.write(HEAD_BYTES)
    for _ in range(3000):
        stored.write(200)
        stored.flush()

    assert len(stored.output._groups) <= TAIL_BYTES // 8192 + 1
    assert TAIL_BYTES_MIN <= size(stored.chunks) - HEAD_BYTES <= TAIL_BYTES


@pytest.mark.fault("F51")
@pytest.mark.parametrize("length", [1, 60, 65536, 2**23])
def test_memory_is_bounded_whatever_is_written_while_nothing_can_be_stored(
    length: int,
):
    output, data = Output(RUN), bytes(length)
    count = {1: 20_000, 60: 20_000}.get(length, 20)
    tracemalloc.start()
    for number in range(count):
        output.write(data, number % 2 * 20, number)
        if number % 500 == 0:
            output.unstored()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 4 * 2**20


def test_many_marks_close_a_chunk():
    stored = Stored()
    for number in range(3 * MARKS_MAX):
        stored.write(2, number % 2 * 20)
    stored.flush()

    assert [len(chunk.data) for chunk in stored.chunks] == [
        2 * MARKS_MAX + 2,
        2 * MARKS_MAX,
        2 * MARKS_MAX - 2,
    ]


def test_only_the_last_progress_is_stored_and_a_timeout_stays_with_it():
    stored = Stored()
    assert stored.output.report(0.25, "a quarter", 1)
    assert not stored.output.extend(99, 2)
    stored.output.report(0.5, "half", 3)
    stored.flush()
    stored.flush()
    stored.output.report(0.75, "", 4)
    stored.flush(at_end=True)

    assert stored.progress == [
        Progress(1, 0, 1, 3, 0.5, "half", 99),
        Progress(1, 0, 1, 4, 0.75, "", 99),
    ]


def test_a_mark_for_a_full_disk_replaces_all_chunks_and_has_no_position():
    stored = Stored()
    stored.write(100_000)
    stored.flush("failed")

    (mark,) = stored.output.mark()

    assert (mark.data, mark.position) == (b"\n[100000 bytes discarded: the disk is full]\n", None)
    assert [mark] == list(with_gaps([mark]))
