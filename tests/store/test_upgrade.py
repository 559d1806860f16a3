"""Databases as earlier versions of this program wrote them: they open, are upgraded, and the
schedules in them go on. `write_database.py` says what is in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import apsw
import asyncpg
import pytest

from quarterjack.rules import State
from quarterjack.store.checking import faults
from quarterjack.store.sqlite_file import APPLICATION_ID
from rules.world import at
from store.server import server
from store.stores import Asking, asking_of, postgres_at, query, sqlite
from store.write_database import HERE, SCHEMA

OLD = sorted(path.stem for path in HERE.glob("*.sql"))


@pytest.fixture(params=OLD)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    """At 12:00, the moment at which the old program stopped."""
    text = (HERE / f"{request.param}.sql").read_text()
    if request.param.startswith("sqlite"):
        opening = partial(sqlite, restored_file(text, tmp_path))
    else:
        opening = partial(postgres_at, restored_schema(text))
    with asking_of(opening, at("12:00")) as ask:
        yield ask


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
    asked = "select state, reason from runs join schedules on id = schedule_id where key = $1"
    return [(row[0], row[1]) for row in query(ask, f"{asked} order by number", key)]


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
    asked = "select repeat from runs join schedules on id = schedule_id where key = $1"
    repeats = [row[0] for row in query(ask, f"{asked} order by number", "repeating")]

    assert repeats[-1] == 3, "three have succeeded"


def test_prompts_take_from_the_budgets_of_agents(ask: Asking):
    found = query(ask, "select key from schedules where preset = 'agent' order by id")

    assert [key for (key,) in found] == ["prompting", "prompting-otherwise"]
