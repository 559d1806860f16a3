"""Steps that the tests of the transactions share."""

from __future__ import annotations

from harness.store.stores import StoreClient, connection, query
from quarterjack import rules
from quarterjack.rules import Retention
from quarterjack.rules.policies.retention import horizons
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.transactions.retention import Pruned, PruneProgress

KEEP_ALL = Retention(None, None, None, None, None, None)


def states(client: StoreClient, which: str = "nightly") -> list[str]:
    """The states of the runs of a schedule, oldest run first."""
    return [str(found.run.state) for found in reversed(client.reads.runs(which))]


def started(client: StoreClient, **fields: object) -> rules.Run:
    """A run of a new schedule, claimed."""
    client.add(every="1h", **fields)
    client.go("09:00")
    client.plan()
    (claim,) = client.claim()
    return claim.run


def write(client: StoreClient, statement: str) -> None:
    """As somebody with a database browser would."""
    query(client, statement)


def clear_cache(client: StoreClient) -> None:
    """As after a restart of the process."""
    client.store._specifications._cached.clear()


def changes(client: StoreClient) -> int:
    """A number that grows with each row that is written."""
    if isinstance(client.store, SqliteStore):
        return int(connection(client).total_changes())
    tables = ["schedules", "runs", "events", "audit", "planner_state"]
    tables += ["specifications", "slots_not_run"]
    found = [query(client, f"select max(xmin::text::bigint) from {table}") for table in tables]
    return max(newest or 0 for ((newest,),) in found)


def prune(
    client: StoreClient,
    retention: Retention,
    progress: PruneProgress = PruneProgress(),  # noqa: B008
) -> list[Pruned]:
    """A whole round of batches."""
    before, batches = horizons(retention, client.now), []
    while not progress.is_complete:
        batches.append(client(client.store.prune(before, retention, progress, client.now)))
        progress = batches[-1].progress
    return batches
