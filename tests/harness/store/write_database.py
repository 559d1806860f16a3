"""Writes `databases/sqlite_N.sql` and `databases/postgres_N.sql`: a database with some of
everything in it, as the program of this commit writes it. Run it before you change the schema or
stored data, and commit the files with the change: `test_upgrade.py` upgrades each of them.

    PYTHONPATH=tests .venv/bin/python -m harness.store.write_database
"""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import apsw.shell

from harness.rules.values import at
from harness.store.server import server
from harness.store.stores import StoreClient, connection, open_client
from quarterjack import rules
from quarterjack.control import Control
from quarterjack.rules import Run, read_specification
from quarterjack.store.migrations import load_migrations
from quarterjack.store.types import Chunk, NewSchedule
from quarterjack.targets.kinds import KINDS

FOLDER = Path(__file__).parent / "databases"
SCHEMA = "the_schema"
"""The name of the schema in the dump for PostgreSQL."""
BREAKER = {"threshold": 1, "reset_after": "10m"}


def write() -> None:
    FOLDER.mkdir(exist_ok=True)
    for kind, dialect in (("SQLite", "sqlite"), ("PostgreSQL", "postgres")):
        with open_client(kind, Path(tempfile.mkdtemp())) as client:
            populate(client)
            number = load_migrations(dialect)[-1].number
            path = FOLDER / f"{dialect}_{number}.sql"
            path.write_text(sqlite_text(client) if dialect == "sqlite" else postgres_text(client))
            print(path)


def populate(client: StoreClient) -> None:
    """From 08:00 to 12:00; the key of a schedule tells what happens to it."""
    keys = _add_all(client)
    removed = {"removed-retrying", "removed-held", "removed-running"}
    failing = {"removed-retrying", "removed-held", "retrying"}
    running = {"removed-running", "completion-running"}
    for hour in (9, 10, 11):
        client.go(f"{hour:02}:00")
        client.plan()
        claims = client.claim()
        if hour == 11:
            for key in removed:
                client.change(keys[key], rules.delete, though_running=True)
        client(client.store.add_output(chunks_of(claims[0].run, hour)))
        for claim in claims:
            fails = claim.key in failing and hour == 11
            if claim.key not in running or hour < 11:
                client.settle((claim.run, client.outcome("failed" if fails else "succeeded")))
    client.go("11:59")
    control = Control(client.store, by="ada", origin="cli")
    client(control.pause("paused", reason="repairs"))
    client(control.delete("deleted"))
    client(control.backfill("backfilling", at("08:30"), at("11:30")))
    client.go("12:00")
    client.plan()


def chunks_of(run: Run, hour: int) -> list[Chunk]:
    """What a run of the first schedule, `hourly`, has written."""
    texts = [b"it is %d\nhalf a " % hour, b"line\n\0\xff"]
    return [
        Chunk(run.schedule_id, run.number, run.attempt, sequence, at(f"{hour:02}:00"), text)
        for sequence, text in enumerate(texts)
    ]


def _add_all(client: StoreClient) -> dict[str, int]:
    task, shared = {"task": "work"}, {"plugin": "shared", "circuit_breaker": BREAKER}
    wanted: dict[str, dict[str, Any]] = {
        "hourly": {"every": "1h", **task},
        "repeating": {"every": "1h", "total_repeats": 9, **task},
        "one-shot": {"at": "2026-11-16T09:00:00Z", **task},
        "retrying": {"every": "3h", "max_retries": 3, "retry_delay": "2h", **task},
        "completion-running": {"every": "1h", "anchor": "completion", **task},
        "removed-retrying": {"every": "1h", "max_retries": 3, **task},
        "removed-held": {"every": "1h", "max_retries": 3, **shared},
        "removed-running": {"every": "1h", "max_retries": "endless", **task},
        "sharing": {"every": "1h", "if_running": "queue", **shared},
        "paused": {"cron": "0 * * * *", **task},
        "deleted": {"daily": {"time": "09:00"}, **task},
        "backfilling": {"every": "1h", "max_outstanding_polls": 0, "plugin": "p"},
        "prompting": {"every": "1h", "prompt": "Check the queue"},
        "prompting-otherwise": {"every": "1h", "prompt": "Look", "preset": "ductile"},
        "own-preset": {"every": "1h", "preset": "agent", **task},
        "calling": {"every": "1h", "workflow_id": 7},
    }
    return {key: _add(client, key, fields) for key, fields in wanted.items()}


def _add(client: StoreClient, key: str, fields: dict[str, Any]) -> int:
    specification = read_specification(fields, kinds=KINDS, key=key, now=client.now)
    (made,) = client.add_all([NewSchedule(key, specification, None, "test")])
    return made.id


def sqlite_text(client: StoreClient) -> str:
    out = io.StringIO()
    shell = apsw.shell.Shell(stdout=out, db=connection(client))
    shell.process_command(".dump")  # type: ignore[no-untyped-call]
    return out.getvalue()


def postgres_text(client: StoreClient) -> str:
    address = client.store._address  # type: ignore[attr-defined]
    command = [str(server().program("pg_dump")), address.url, "--schema", address.schema]
    options = ["--inserts", "--no-owner", "--no-privileges", "--no-comments"]
    done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("\\")]
    return "\n".join(lines).replace(address.schema, SCHEMA) + "\n"


if __name__ == "__main__":
    write()
