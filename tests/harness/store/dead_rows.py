"""What a claim costs beside dead rows that nobody can clear away, for a stranger's transaction
still sees them."""

from __future__ import annotations

import time

import asyncpg

from quarterjack.store.postgres.connection import Address
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.times.instants import SECOND

CLAIMS = 100


async def claims_beside_dead_rows(
    store: PostgresStore, address: Address, queued: int, dead: int
) -> tuple[float, float]:
    """The median and the 99th of a hundred, in ms; so many runs are queued."""
    stranger = await asyncpg.connect(address.url)
    await stranger.execute("begin isolation level repeatable read")
    await stranger.fetchval("select txid_current()")
    writer = await asyncpg.connect(address.url, server_settings={"search_path": address.schema})
    for _ in range(0, dead, 2 * queued):  # claimed, and put back
        await writer.execute("update runs set state = 'running'")
        await writer.execute("update runs set state = 'queued'")
    await writer.close()
    costs = sorted([await _claim_ms(store) for _ in range(CLAIMS)])
    await stranger.close()
    return costs[CLAIMS // 2], costs[CLAIMS - 2]


async def _claim_ms(store: PostgresStore) -> float:
    now = store.now()
    begun = time.perf_counter()
    found = await store.claim_runs("w", ["default"], 1, now + 1000 * SECOND, now)
    assert len(found.claims) == 1
    return (time.perf_counter() - begun) * 1000
