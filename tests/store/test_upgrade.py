"""Databases that earlier versions have written are upgraded, and their schedules go on.
`harness/store/write_database.py` tells what is in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from uuid import uuid4

import apsw
import asyncpg
import pytest

from harness.rules.values import at
from harness.store.server import server
from harness.store.stores import StoreClient, client_of, postgres_at, query, sqlite
from harness.store.write_database import FOLDER, SCHEMA
from quarterjack.rules import Retention, State, Status
from quarterjack.rules.policies.retention import horizons
from quarterjack.store.maintenance.check import faults
from quarterjack.store.output_lines import Line, lines_of
from quarterjack.store.sqlite.file import APPLICATION_ID
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.store.types import Chunk
from quarterjack.times import Every
from quarterjack.times.instants import DAY, HOUR, SECOND

DATABASES = sorted(path.stem for path in FOLDER.glob("*.sql"))


@pytest.fixture(params=DATABASES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreClient]:
    with upgraded(request.param, tmp_path) as client:
        yield client


def upgraded(name: str, folder: Path, written: str = "") -> AbstractContextManager[StoreClient]:
    """At 12:00, when the old program stopped. `written` is SQL to run before the upgrade."""
    text = (FOLDER / f"{name}.sql").read_text()
    if name.startswith("sqlite"):
        opening = partial(sqlite, restored_file(text + written, folder))
    else:
        written = f"set search_path = {SCHEMA};\n{written}"
        opening = partial(postgres_at, restored_schema(text + written))
    return client_of(opening, at("12:00"))


def restored_file(text: str, folder: Path) -> Path:
    connection = apsw.Connection(str(folder / "quarterjack.db"))
    connection.execute(text).fetchall()
    connection.pragma("application_id", APPLICATION_ID)
    connection.close()
    return folder


def restored_schema(text: str) -> str:
    schema = f"s{uuid4().hex[:12]}"

    async def restore() -> None:
        connection = await asyncpg.connect(server().url)
        await connection.execute(text.replace(SCHEMA, schema))
        await connection.close()

    asyncio.run(restore())
    return f"{server().url}?schema={schema}"


def states(client: StoreClient, key: str) -> list[tuple[str, str | None]]:
    statement = "select state, reason from runs join schedules on id = schedule_id where key = $1"
    return [(row[0], row[1]) for row in query(client, f"{statement} order by number", key)]


def run_until(client: StoreClient, *instants: str) -> list[str]:
    """Plan, claim and let every run succeed at these instants; the keys of the runs."""
    ran = []
    for instant in instants:
        client.go(instant)
        client.rescue()
        client.plan()
        while claims := client.claim():
            ran += [claim.key for claim in claims]
            client.settle(*((claim.run, client.outcome()) for claim in claims))
            client.plan()
    return ran


def test_an_upgraded_database_is_consistent(client: StoreClient):
    assert [str(fault) for fault in faults(client.url)] == []


def test_schedules_continue_where_they_were(client: StoreClient):
    ran = run_until(client, "12:00", "13:00", "14:00")

    assert ran.count("hourly") == 3
    assert ran.count("retrying") == 2  # its retry of 13:00, and the slot of 14:00
    assert ran.count("prompting") == ran.count("calling") == ran.count("own-preset") == 3
    assert not {"paused", "deleted", "one-shot"} & set(ran)
    assert [str(fault) for fault in faults(client.url)] == []
    left = "select key from runs join schedules on id = schedule_id where finished_at is null"
    assert query(client, left) == []


def test_waiting_runs_of_deleted_schedules_are_closed(client: StoreClient):
    for key in ("removed-retrying", "removed-held"):
        state, reason = states(client, key)[-1]
        assert (reason, state in (State.SKIPPED, State.FAILED)) == ("deleted", True)
    assert states(client, "removed-running")[-1] == (State.RUNNING, None)

    ran = run_until(client, "12:00", "13:00")

    assert ran.count("sharing") == 2  # the run of 12:00 had been held behind one of these
    assert not {"removed-retrying", "removed-held", "removed-running"} & set(ran)
    assert states(client, "removed-running")[-1] == (State.LOST, "deleted")


def test_the_last_slot_and_the_last_firing_are_filled_in(client: StoreClient):
    found = client.reads.schedule("hourly").schedule

    assert (found.last_slot, found.last_fired_at) == (at("12:00"), at("12:00"))


def test_open_runs_get_the_number_of_their_repeat(client: StoreClient):
    statement = "select repeat from runs join schedules on id = schedule_id where key = $1"
    repeats = [row[0] for row in query(client, f"{statement} order by number", "repeating")]

    assert repeats[-1] == 3, "three have succeeded"


@pytest.mark.parametrize("name", ["sqlite_10", "postgres_7"])
def test_output_of_an_older_program_is_shown_without_times_and_new_output_with_them(
    name: str, tmp_path: Path
):
    with upgraded(name, tmp_path) as client:
        new = Chunk(1, 2, 2, 0, at("12:00"), b"new\n", 0, "0,0,20")
        client(client.store.add_output([new]))
        found = list(lines_of(client.reads.output("1-2")))

    assert found == [
        Line(1, None, 0, "it is 11"),
        Line(1, None, 0, "half a line"),
        Line(1, None, 0, "\0\\xff"),
        Line(2, at("12:00"), 20, "new"),
    ]


BEFORE_PRESETS = [
    name for name in DATABASES if name in ("postgres_3", "postgres_4", "sqlite_6", "sqlite_7")
]
"""Their upgrade derives which schedules have the preset `agent`; later ones have stored it."""


@pytest.mark.parametrize("name", BEFORE_PRESETS)
def test_prompts_get_the_preset_agent(name: str, tmp_path: Path):
    with upgraded(name, tmp_path) as client:
        found = query(client, "select key from schedules where preset = 'agent' order by id")

    assert [key for (key,) in found] == ["prompting", "prompting-otherwise"]


UNREADABLE = {
    "no JSON": 'not json: "prompt"',
    "nothing": "",
    "U+0000": '{"prompt": "a\\u0000b"}',
    "half a character": '{"prompt": "a\\ud800"}',
    "a number beyond all bounds": '{"prompt": 1e999999}',
    "too deep": '{"prompt": ' + "[" * 50_000 + "]" * 50_000 + "}",
    "a list": '["prompt"]',
}


@pytest.mark.parametrize("name", BEFORE_PRESETS)
@pytest.mark.parametrize("body", [pytest.param(text, id=name) for name, text in UNREADABLE.items()])
def test_an_unreadable_body_makes_only_its_own_schedule_invalid(
    name: str, body: str, tmp_path: Path
):
    corrupt_body = f"update specifications set body = '{body}' where schedule_id = 1;"

    with upgraded(name, tmp_path, corrupt_body) as client:
        found = query(
            client, "select key from schedules where preset = 'agent' and id > 1 order by id"
        )
        ran = run_until(client, "12:00", "13:00")
        corrupted = client.reads.schedule("hourly").schedule

    assert [key for (key,) in found] == ["prompting", "prompting-otherwise"]
    assert ran.count("prompting") == ran.count("calling") == 2
    assert corrupted.status is Status.INVALID


REMOVED = ("removed-retrying", "removed-held")
REMOVED_BEFORE = f"""
update schedules set deleted_at = {at("2020-05-01T11:00:00Z")} where key in {REMOVED};
update runs
set planned_at = {at("2020-05-01T11:00:00Z")}, started_at = {at("2020-05-01T11:00:00Z")}
where finished_at is null and schedule_id in (select id from schedules where key in {REMOVED});
insert into facts values ('rolled_up', '[{at("2020-06-01T11:00:00Z")}, 1, 0]');
"""
"""Stuck runs; runs that ended up to a month later were already counted before the upgrade."""


@pytest.mark.parametrize("name", ["sqlite_6", "postgres_3"])
def test_runs_closed_by_the_upgrade_are_counted_on_its_day(name: str, tmp_path: Path):
    with upgraded(name, tmp_path, REMOVED_BEFORE) as client:
        ((upgraded_at,),) = query(
            client, "select max(finished_at) from runs where reason = 'deleted'"
        )
        ((ended_at,),) = query(client, "select max(finished_at) from runs")
        update_daily_stats(client, ended_at + HOUR)
        counted = [
            {day.day: day for day in client.reads.days(str(identity), 0, 100_000)}
            for identity in identities(client, *REMOVED)
        ]

    for days in counted:
        assert days[upgraded_at // DAY].skipped == 1
        assert sum(day.started for day in days.values()) == 2, "those that succeeded"
        assert max(day.duration_max for day in days.values()) == 0


def identities(client: StoreClient, *keys: str) -> list[int]:
    rows = query(client, "select key, id from schedules")
    return [dict(rows)[key] for key in keys]


def update_daily_stats(client: StoreClient, now: int) -> None:
    retention, progress = Retention(None, None, None, None, None, None), PruneProgress()
    while not progress.is_complete:
        progress = client(
            client.store.prune(horizons(retention, now), retention, progress, now)
        ).progress


@pytest.mark.parametrize("name", [max(DATABASES), max(d for d in DATABASES if "postgres" in d)])
def test_durations_that_were_stored_as_numbers_are_read_as_milliseconds(name: str, tmp_path: Path):
    """Earlier versions took whole milliseconds."""
    written = """update specifications set body = replace(replace(body,
        '"grace":"1m"', '"grace":90000'), '"every":"1h"', '"every":3600000');"""

    with upgraded(name, tmp_path, written) as client:
        stored = client.reads.schedule("hourly").schedule.specification
        ran = run_until(client, "12:00", "13:00", "14:00")

    assert (stored.catch_up.grace, stored.recurrence) == (90 * SECOND, Every("1h"))
    assert ran.count("hourly") == 3
