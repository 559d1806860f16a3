"""Output on every store."""

from __future__ import annotations

from harness.store.shortcuts import started
from harness.store.stores import StoreClient
from quarterjack.store.types import (
    Chunk,
)


def test_output_is_stored_in_order_and_each_chunk_once(client: StoreClient):
    run = started(client)
    chunks = [
        Chunk(run.schedule_id, 0, 1, number, client.now, b"%d;" % number) for number in (0, 1)
    ]
    client(client.store.add_output(chunks))
    client(
        client.store.add_output([chunks[1]._replace(data=b"other"), chunks[0]._replace(attempt=2)])
    )

    assert client.reads.output(run.id) == b"0;1;0;"
    assert client.reads.output(run.id, 1) == b"0;1;"


def test_no_output_is_accepted(client: StoreClient):
    assert client(client.store.add_output([])) is None
