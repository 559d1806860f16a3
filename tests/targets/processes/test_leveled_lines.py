"""Frames in the output of a task process: their level and their place among plain output are kept,
however it is cut."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from quarterjack.targets.processes.leveled_lines import LeveledLines, beginning_of, framed

PLAIN = some.binary(min_size=1).filter(lambda data: not {0x1E, 0x1F} & set(data))
PARTS = some.lists(
    some.one_of(
        some.tuples(some.just(0), PLAIN),
        some.tuples(some.integers(1, 99), some.binary()),
        some.tuples(some.just(-1), some.integers(0, 10**12)),
    )
)
LONG = 256 * 1024


def fed(*pieces: bytes) -> list[Any]:
    """What is read: levels with their data, plain data (level 0) in one, and numbers of calls."""
    found: list[Any] = []

    def write(data: bytes, level: int = 0, /) -> None:
        if not level and found and found[-1][0] == 0:
            data = found.pop()[1] + data
        found.append((level, data))

    lines = LeveledLines(write, lambda number: found.append((-1, number)))
    for piece in pieces:
        lines.feed(piece)
    lines.flush()
    return found


def cut(data: bytes, places: list[int]) -> list[bytes]:
    bounds = sorted({0, len(data), *(each % (len(data) + 1) for each in places)})
    return [data[a:b] for a, b in pairwise(bounds)]


@given(PARTS, some.lists(some.integers(0, 10_000)))
def test_what_was_written_is_read_again_however_it_is_cut(parts: Any, places: list[int]):
    data, expected = b"", list[Any]()
    for level, value in parts:
        if level == -1:
            data += beginning_of(value)
            expected.append((level, value))
        elif level == 0:
            data += value
            before = expected.pop()[1] if expected and expected[-1][0] == 0 else b""
            expected.append((level, before + value))
        else:
            data += framed(value, level)
            expected.append((level, value.replace(b"\x1e", b"?").replace(b"\x1f", b"?")))

    assert fed(*cut(data, places)) == expected


@given(some.lists(some.sampled_from([b"\x1e", b"\x1f", b"30", b"07", b"x\n"])), some.data())
def test_any_bytes_mean_the_same_however_they_are_cut(pieces: list[bytes], data: some.DataObject):
    text = b"." + b"".join(pieces)

    assert fed(*cut(text, data.draw(some.lists(some.integers(0, 200))))) == fed(text)


def test_bytes_that_only_look_like_a_frame_are_plain_output():
    text = b"\x1e \x1f \x1e3 \x1e30 and no end \x1e30"

    assert fed(text) == [(0, text)]


def test_a_frame_that_never_ends_is_given_on_as_plain_output_and_not_kept_in_memory():
    found: list[int] = []
    lines = LeveledLines(lambda data, level=0: found.append(len(data)), lambda number: None)
    lines.feed(b"\x1e30")
    for _ in range(20):
        lines.feed(b"x" * LONG)

    assert sum(found) >= 19 * LONG


def test_a_very_long_line_is_cut_and_keeps_its_level():
    ((level, data),) = fed(*cut(framed(b"x" * 3 * LONG, 40), [10, LONG // 2]))

    assert level == 40
    assert LONG - 100 < len(data) < LONG


@pytest.mark.parametrize(("level", "expected"), [(-5, 1), (0, 1), (30, 30), (1000, 99)])
def test_a_level_has_two_digits(level: int, expected: int):
    assert fed(framed(b"line", level)) == [(expected, b"line")]
