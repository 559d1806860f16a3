"""Databases with some history, for the tests of maintenance commands on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw

from harness.store.stores import StoreClient, open_client
from quarterjack.rules import Run, ServiceSettings
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.types import Chunk
from quarterjack.times.instants import HOUR, SECOND

CORRUPTIONS = {
    "open_runs_without_schedule": "delete from schedules where id = 2",
    "waiting_runs_of_deleted_schedules": (
        "update runs set state = 'queued', finished_at = null where schedule_id = 1; "
        "update schedules set deleted_at = 1, wake_at = null where id = 1"
    ),
    "runs_without_specification": "update runs set version = 7 where schedule_id = 1",
    "schedules_without_specification": "update schedules set version = 7",
    "runs_beyond_the_count": "update schedules set planned_count = 2 where id = 1",
    "open_runs_that_ended": "update runs set state = 'queued' where schedule_id = 1",
    "ended_runs_without_an_end": "update runs set finished_at = null where schedule_id = 1",
    "running_runs_without_lease": "update runs set lease_until = null where schedule_id = 2",
    "doubled_keys": "drop index schedules_by_key; update schedules set key = 'same'",
    "attempts_without_run": """
        insert into attempts values (1, 9, 1, '', 0, 0, 'failed', '', '', false, null)
    """,
    "output_without_run": "insert into output values (1, 9, 1, 0, 0, x'00', 0, '')",
    "progress_without_run": "insert into progress values (1, 9, 1, 0, 0.5, '', null)",
    "slots_before_the_cursor": "update schedules set next_slot = cursor where id = 1",
    "schedules_that_never_wake": "update schedules set wake_at = null where id = 1",
    "deleted_schedules_that_wake": "update schedules set deleted_at = 1 where id = 1",
    "ids_beyond_the_counter": "update counters set value = 1 where name = 'schedules'",
    "gates_with_unknown_probe": "insert into gates values ('k', 'half_open', 3, null, 60, '1-9')",
}
"""SQL that makes each consistency check fail."""


def populated_database(folder: Path, runs: int = 3) -> Path:
    """SQLite, as `populate` leaves it."""
    with open_client("SQLite", folder) as client:
        populate(client, runs)
    return folder / "quarterjack.db"


def populate(client: StoreClient, runs: int = 3) -> None:
    """A schedule that ran each hour, and one whose only run is still running."""
    client.add("hourly", every="1h")
    client.add("slow", every="1h", if_running="skip")
    running: list[Run] = []
    for number in range(runs):
        client.clock.instant += HOUR
        client.plan()
        for claim in client.claim():
            if claim.key == "slow":
                running.append(claim.run)
                continue
            client(client.store.add_output([Chunk(1, number, 1, 0, client.now, b"x" * 9000)]))
            client.settle((claim.run, client.outcome()))
    client(client.store.renew_leases("w1", running, client.now + 10 * SECOND))
    client(client.store.put_metadata(SERVICE_SETTINGS, ServiceSettings().to_text()))


def query(path: Path, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(statement, values).fetchall()
    finally:
        connection.close()
