"""Output as lines with times and levels, and its gaps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from harness.rules.values import at
from quarterjack.store.output_lines import Gap, Line, Marks, lines_of, raw_output
from quarterjack.store.types import Chunk
from quarterjack.times.instants import MILLISECOND, SECOND

NINE = at("09:00")


def chunk(
    data: bytes, position: int | None = None, marks: str | None = None, attempt: int = 1
) -> Chunk:
    return Chunk(1, 0, attempt, 0, NINE, data, position, marks)


def test_each_line_has_the_time_and_the_level_of_its_first_byte():
    marks = Marks(NINE)
    for offset, later, level in [(0, 0, 20), (6, 0, 20), (10, 1, 0), (15, SECOND, 40)]:
        marks.add(offset, NINE + later, level)

    found = lines_of([chunk(b"first\nsecond\nthird\n", 0, marks.text)])

    assert marks.text == "0,0,20 10,0,0 5,1000,40"
    assert list(found) == [
        Line(1, NINE, 20, "first"),
        Line(1, NINE, 20, "second"),
        Line(1, NINE, 0, "third"),
    ]


def test_output_without_levels_that_was_written_at_once_has_no_marks():
    marks = Marks(NINE)
    marks.add(0, NINE, 0)
    marks.add(5, NINE + MILLISECOND - 1, 0)

    assert marks.text == ""
    assert list(lines_of([chunk(b"a\n\nb", 0, "")])) == [
        Line(1, NINE, 0, "a"),
        Line(1, NINE, 0, ""),
        Line(1, NINE, 0, "b"),
    ]


def test_a_line_that_spans_chunks_is_one_line_but_ends_with_its_attempt():
    chunks = [
        chunk(b"one ", 0, "0,5,20"),
        chunk(b"line\r\nand ", 4, ""),
        chunk(b"other\n", 0, "", attempt=2),
    ]

    assert list(lines_of(chunks)) == [
        Line(1, NINE + 5 * MILLISECOND, 20, "one line"),
        Line(1, NINE, 0, "and "),
        Line(2, NINE, 0, "other"),
    ]


def test_a_character_that_spans_chunks_is_whole_and_binary_bytes_are_escaped():
    chunks = [chunk(b"\xc3", 0, ""), chunk(b"\xa9 \xff\0", 1, "")]

    assert [line.text for line in lines_of(chunks) if isinstance(line, Line)] == ["é \\xff\0"]


def test_a_gap_has_the_number_of_omitted_bytes_and_ends_the_line():
    chunks = [chunk(b"head", 0, ""), chunk(b"tail\n", 104, ""), chunk(b"end", 110, "")]

    assert list(lines_of(chunks)) == [
        Line(1, NINE, 0, "head"),
        Gap(1, 100),
        Line(1, NINE, 0, "tail"),
        Gap(1, 1),
        Line(1, NINE, 0, "end"),
    ]
    raw = b"".join(raw_output(chunks))
    assert raw == b"head\n[100 bytes omitted]\ntail\n[1 bytes omitted]\nend"


def test_what_retention_has_deleted_from_the_beginning_is_a_gap():
    assert next(iter(lines_of([chunk(b"later\n", 50, "")]))) == Gap(1, 50)


def test_output_of_an_older_program_has_no_times_and_no_gaps():
    chunks = [chunk(b"one\ntw"), chunk(b"o\n"), chunk(b"\n[7 bytes omitted]\n")]

    assert list(lines_of(chunks))[:2] == [Line(1, None, 0, "one"), Line(1, None, 0, "two")]
    assert b"".join(raw_output(chunks)) == b"one\ntwo\n\n[7 bytes omitted]\n"


@given(some.lists(some.tuples(some.binary(max_size=20), some.booleans()), max_size=20))
def test_lines_and_raw_output_do_not_depend_on_the_chunks(pieces: list[tuple[bytes, bool]]):
    whole = b"".join(data for data, _ in pieces)
    chunks, position = [chunk(b"", 0, "")], 0
    for data, begins_chunk in pieces:
        if begins_chunk:
            chunks.append(chunk(b"", position, ""))
        chunks[-1] = chunks[-1]._replace(data=chunks[-1].data + data)
        position += len(data)

    assert b"".join(raw_output(chunks)) == whole
    assert list(lines_of(chunks)) == list(lines_of([chunk(whole, 0, "")]))
