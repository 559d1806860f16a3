"""Output and progress of running attempts, on every store."""

from __future__ import annotations

from typing import Any

import pytest

from harness.store.shortcuts import started
from harness.store.stores import StoreClient
from quarterjack.rules import Run
from quarterjack.store.types import Chunk, ExpiredChunks, Progress


def chunks_of(run: Run, *numbers: int, attempt: int = 1) -> list[Chunk]:
    return [
        Chunk(run.schedule_id, run.number, attempt, number, 9, b"%d;" % number, number * 2, "0,1")
        for number in numbers
    ]


def output(client: StoreClient, run: Run, *where: Any) -> bytes:
    found = client.reads.output(run.id, *where)
    return b"".join(chunk.data for chunk in found)


def test_output_is_stored_in_order_and_each_chunk_once(client: StoreClient):
    run = started(client)
    first, second = chunks_of(run, 0, 1)
    client(client.store.add_output([first, second]))
    other = second._replace(data=b"other")
    client(client.store.add_output([other, first._replace(attempt=2)]))

    assert output(client, run) == b"0;1;0;"
    assert output(client, run, 1) == b"0;1;"
    assert client.reads.output(run.id, 1) == [first, second]


def test_a_follower_gets_what_comes_after_a_chunk(client: StoreClient):
    run = started(client)
    client(client.store.add_output(chunks_of(run, 0, 1, 12)))
    client(client.store.add_output(chunks_of(run, 3, attempt=2)))

    assert output(client, run, None, (1, 0)) == b"1;12;3;"
    assert output(client, run, None, (1, 12)) == b"3;"
    assert output(client, run, 1, (1, 12)) == b""
    assert output(client, run, None, (2, 3)) == b""


@pytest.mark.parametrize("count", [1, 3])
def test_expired_chunks_are_deleted_in_the_transaction_that_adds_newer_ones(
    client: StoreClient, count: int
):
    """A single row and a batch are executed differently."""
    run = started(client)
    kept = chunks_of(run, *range(8), attempt=2)
    client(client.store.add_output([*chunks_of(run, *range(8)), *kept]))
    ranges = [ExpiredChunks(run.schedule_id, 0, 1, 2 + each, 3 + each) for each in range(count)]
    client(client.store.add_output(chunks_of(run, *range(8, 8 + count)), ranges))

    left = [0, 1, *range(2 + count, 8 + count)]
    assert client.reads.output(run.id, 1) == chunks_of(run, *left)
    assert client.reads.output(run.id, 2) == kept


def test_the_last_progress_of_each_attempt_is_kept(client: StoreClient):
    run = started(client)
    first = Progress(run.schedule_id, 0, 1, 5, 0.25, "a quarter")
    last = first._replace(at=6, fraction=0.5, text=None, times_out_at=99)
    second = Progress(run.schedule_id, 0, 2, 7, None, None, 100)
    client(client.store.add_output((), (), [first]))
    client(client.store.add_output(chunks_of(run, 0), (), [last]))
    client(client.store.add_output((), (), [second, first._replace(attempt=3)]))

    found, _ = client.reads.run(run.id)

    assert found.progress == {1: last, 2: second, 3: first._replace(attempt=3)}


def test_no_output_is_accepted(client: StoreClient):
    assert client(client.store.add_output([])) is None
