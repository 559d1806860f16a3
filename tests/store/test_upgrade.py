"""Databases as earlier versions of this program wrote them: they open, are upgraded, and the
schedules in them go on. `write_database.py` says what is in them."""

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

from harness.rules.world import at
from harness.store.server import server
from harness.store.stores import Asking, asking_of, postgres_at, query, sqlite
from harness.store.write_database import HERE, SCHEMA
from quarterjack.rules import Retention, State, Status, horizons
from quarterjack.store.maintenance.check import faults
from quarterjack.store.sqlite.file import APPLICATION_ID
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.times.instants import DAY, HOUR

OLD = sorted(path.stem for path in HERE.glob("*.sql"))


@pytest.fixture(params=OLD)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    with upgraded(request.param, tmp_path) as ask:
        yield ask


def upgraded(name: str, folder: Path, written: str = "") -> AbstractContextManager[Asking]:
    """At 12:00, the moment at which the old program stopped. `written` is SQL that somebody ran on
    the database before the upgrade."""
    text = (HERE / f"{name}.sql").read_text()
    if name.startswith("sqlite"):
        opening = partial(sqlite, restored_file(text + written, folder))
    else:
        written = f"set search_path = {SCHEMA};\n{written}"
        opening = partial(postgres_at, restored_schema(text + written))
    return asking_of(opening, at("12:00"))


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


def states(ask: Asking, key: str) -> list[tuple[str, str | None]]:
    caller = "select state, reason from runs join schedules on id = schedule_id where key = $1"
    return [(row[0], row[1]) for row in query(ask, f"{caller} order by number", key)]


def live_on(ask: Asking, *instants: str) -> list[str]:
    """Everything succeeds; which schedules ran."""
    ran = []
    for instant in instants:
        ask.go(instant)
        ask.rescue()
        ask.plan()
        while claims := ask.claim():
            ran += [claim.key for claim in claims]
            ask.settle(*((claim.run, ask.outcome()) for claim in claims))
            ask.plan()
    return ran


def test_an_old_database_is_sound_after_the_upgrade(ask: Asking):
    assert [str(fault) for fault in faults(ask.url)] == []


def test_schedules_go_on_where_they_were(ask: Asking):
    ran = live_on(ask, "12:00", "13:00", "14:00")

    assert ran.count("hourly") == 3
    assert ran.count("retrying") == 2  # its retry of 13:00, and the slot of 14:00
    assert ran.count("prompting") == ran.count("calling") == ran.count("own-preset") == 3
    assert not {"paused", "deleted", "one-shot"} & set(ran)
    assert [str(fault) for fault in faults(ask.url)] == []
    left = "select key from runs join schedules on id = schedule_id where finished_at is null"
    assert query(ask, left) == []


def test_runs_that_a_deleted_schedule_left_waiting_are_closed(ask: Asking):
    for key in ("removed-retrying", "removed-held"):
        state, reason = states(ask, key)[-1]
        assert (reason, state in (State.SKIPPED, State.FAILED)) == ("deleted", True)
    assert states(ask, "removed-running")[-1] == (State.RUNNING, None)

    ran = live_on(ask, "12:00", "13:00")

    assert ran.count("sharing") == 2  # the run of 12:00 had been held behind one of these
    assert not {"removed-retrying", "removed-held", "removed-running"} & set(ran)
    assert states(ask, "removed-running")[-1] == (State.LOST, "deleted")


def test_what_was_one_instant_says_when_a_slot_was_planned_and_which_it_was(ask: Asking):
    found = ask.reads.schedule("hourly").schedule

    assert (found.last_slot, found.last_fired_at) == (at("12:00"), at("12:00"))


def test_open_runs_know_the_repeat_that_they_are_for(ask: Asking):
    caller = "select repeat from runs join schedules on id = schedule_id where key = $1"
    repeats = [row[0] for row in query(ask, f"{caller} order by number", "repeating")]

    assert repeats[-1] == 3, "three have succeeded"


BEFORE_PRESETS = [
    name for name in OLD if name in ("postgres_3", "postgres_4", "sqlite_6", "sqlite_7")
]
"""The upgrade finds out which schedules are of the preset `agent`; since then it is stored."""


@pytest.mark.parametrize("name", BEFORE_PRESETS)
def test_prompts_take_from_the_budgets_of_agents(name: str, tmp_path: Path):
    with upgraded(name, tmp_path) as ask:
        found = query(ask, "select key from schedules where preset = 'agent' order by id")

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
def test_a_body_that_cannot_be_read_harms_its_own_schedule_and_no_upgrade(
    name: str, body: str, tmp_path: Path
):
    poison = f"update specifications set body = '{body}' where schedule_id = 1;"

    with upgraded(name, tmp_path, poison) as ask:
        found = query(
            ask, "select key from schedules where preset = 'agent' and id > 1 order by id"
        )
        ran = live_on(ask, "12:00", "13:00")
        poisoned = ask.reads.schedule("hourly").schedule

    assert [key for (key,) in found] == ["prompting", "prompting-otherwise"]
    assert ran.count("prompting") == ran.count("calling") == 2
    assert poisoned.status is Status.INVALID


REMOVED = ("removed-retrying", "removed-held")
REMOVED_BEFORE = f"""
update schedules set deleted_at = {at("2020-05-01T11:00:00Z")} where key in {REMOVED};
update runs
set planned_at = {at("2020-05-01T11:00:00Z")}, started_at = {at("2020-05-01T11:00:00Z")}
where finished_at is null and schedule_id in (select id from schedules where key in {REMOVED});
insert into facts values ('rolled_up', '[{at("2020-06-01T11:00:00Z")}, 1, 0]');
"""
"""Runs got stuck, and those that ended up to a month later were counted before the upgrade."""


@pytest.mark.parametrize("name", ["sqlite_6", "postgres_3"])
def test_runs_that_the_upgrade_closes_are_counted_on_its_day(name: str, tmp_path: Path):
    with upgraded(name, tmp_path, REMOVED_BEFORE) as ask:
        ((upgraded_at,),) = query(ask, "select max(finished_at) from runs where reason = 'deleted'")
        ((ended_at,),) = query(ask, "select max(finished_at) from runs")
        update_daily_stats(ask, ended_at + HOUR)
        counted = [
            {day.day: day for day in ask.reads.days(str(identity), 0, 100_000)}
            for identity in identities(ask, *REMOVED)
        ]

    for days in counted:
        assert days[upgraded_at // DAY].skipped == 1
        assert sum(day.started for day in days.values()) == 2, "those that succeeded"
        assert max(day.duration_max for day in days.values()) == 0


def identities(ask: Asking, *keys: str) -> list[int]:
    rows = query(ask, "select key, id from schedules")
    return [dict(rows)[key] for key in keys]


def update_daily_stats(ask: Asking, now: int) -> None:
    retention, progress = Retention(None, None, None, None, None, None), PruneProgress()
    while not progress.is_over:
        progress = ask(ask.store.prune(horizons(retention, now), retention, progress, now)).progress
