"""How long claims take when a table has many dead rows that vacuum cannot remove, because an open
transaction still sees them."""

from __future__ import annotations

import time

import asyncpg

from quarterjack.store.address import Address
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.times.instants import SECOND

CLAIMS = 100


async def claims_beside_dead_rows(
    store: PostgresStore, address: Address, queued: int, dead: int
) -> tuple[float, float]:
    """The median and 99th percentile of a hundred claims, in ms. `queued` is the number of queued
    runs."""
    other = await asyncpg.connect(address.url)
    await other.execute("begin isolation level repeatable read")
    await other.fetchval("select txid_current()")
    writer = await asyncpg.connect(address.url, server_settings={"search_path": address.schema})
    for _ in range(0, dead, 2 * queued):  # each update leaves a dead row per run
        await writer.execute("update runs set state = 'running'")
        await writer.execute("update runs set state = 'queued'")
    await writer.close()
    durations = sorted([await _claim_ms(store) for _ in range(CLAIMS)])
    await other.close()
    return durations[CLAIMS // 2], durations[CLAIMS - 2]


async def _claim_ms(store: PostgresStore) -> float:
    now = store.now()
    begun = time.perf_counter()
    found = await store.claim_runs("w", ["default"], 1, now + 1000 * SECOND, now)
    assert len(found.claims) == 1
    return (time.perf_counter() - begun) * 1000
