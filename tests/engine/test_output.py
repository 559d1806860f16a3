"""Output of an attempt: chunks, and what of much output is kept."""

from __future__ import annotations

from quarterjack.engine.output import CHUNK_BYTES, HEAD_BYTES, TAIL_BYTES, Output
from quarterjack.rules import Kind, Run

RUN = Run(1, 0, Kind.SLOT, 0, 0, 0, "1", attempt=1)


def test_chunks_are_returned_until_they_are_stored():
    output = Output(RUN)
    output.write(b"one")
    first = output.unstored(1)
    output.write(b"two")
    both = output.unstored(2)

    assert [chunk.data for chunk in both] == [b"one", b"two"]
    output.stored(first)
    assert [(chunk.sequence, chunk.data) for chunk in output.unstored(3)] == [(1, b"two")]


def test_of_much_output_the_head_and_the_tail_are_kept():
    output = Output(RUN)
    for _ in range(40):
        output.write(b"x" * 65536)
    output.write(b"the end")

    chunks = output.unstored(0, at_end=True)
    again = output.unstored(0, at_end=True)
    data = b"".join(chunk.data for chunk in chunks)

    assert again == chunks
    assert all(len(chunk.data) <= CHUNK_BYTES for chunk in chunks)
    assert data.endswith(b"the end")
    omitted = 40 * 65536 + 7 - HEAD_BYTES - TAIL_BYTES
    assert f"[{omitted} bytes omitted]".encode() in data
    assert len(data) < HEAD_BYTES + TAIL_BYTES + 100
