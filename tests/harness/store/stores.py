"""The stores that the contract is asked of. A second one joins by one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from harness.rules.world import at
from harness.store.server import server
from harness.store.stored_world import SetClock
from quarterjack import rules
from quarterjack.rules import Limits, Run, Schedule, read_specification
from quarterjack.store.postgres.connection import address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import Statements
from quarterjack.store.store import Store
from quarterjack.store.types import Caller, Claim, NewSchedule
from quarterjack.times.instants import SECOND

T = TypeVar("T")


async def sqlite(folder: Path, clock: SetClock) -> Store:
    path = folder / "quarterjack.db"
    return SqliteStore(open_database(path, now=clock.now(), create=True), path, clock)


async def postgres(folder: Path, clock: SetClock) -> Store:
    return await postgres_at(f"{server().url}?schema=s{uuid4().hex[:12]}", clock)


async def postgres_at(url: str, clock: SetClock) -> Store:
    return await PostgresStore(address_of(url), clock, "tests").open(create=True)


STORES = {"SQLite": sqlite, "PostgreSQL": postgres}
HOUSES = ["SQLite", pytest.param("PostgreSQL", marks=pytest.mark.unmeasured)]
"""What is lived on both for hours of their clock."""


class Asking:
    """A store, asked from plain functions, with the words that the tests need."""

    def __init__(self, store: Store, clock: SetClock, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.clock = clock
        self._loop = loop

    @cached_property
    def reads(self) -> Reader:
        return Reader(self.url)

    @property
    def url(self) -> str:
        store = self.store
        if isinstance(store, SqliteStore):
            return f"sqlite:///{store._path}"
        assert isinstance(store, PostgresStore)
        return f"{store._address.url}?schema={store._address.schema}"

    def __call__(self, asking: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(asyncio.wait_for(asking, 60))

    @property
    def now(self) -> int:
        return self.clock.instant

    def go(self, until: str) -> None:
        self.clock.instant = at(until)

    def add(self, key: str = "nightly", limits: Limits = Limits(), **fields: Any) -> int:  # noqa: B008
        return self.add_all([new(key, self.now, **fields)], limits)[0].id

    def add_all(
        self,
        wanted: list[NewSchedule],
        limits: Limits = Limits(),  # noqa: B008
    ) -> list[Schedule]:
        now = self.now

        def decide(identity: int, each: NewSchedule, active: int) -> Schedule:
            key, said = each.key, each.specification
            return rules.create(identity, key, said, now, active=active, limits=limits)

        caller = Caller("ada", "test", "create", limits=limits)
        return list(self(self.store.add_schedules(wanted, decide, now, caller)))

    def plan(self, limit: int = 1000) -> Any:
        return self(self.store.plan_due(self.now, limit, rules.plan))

    def claim(self, worker: str = "w1", seats: int = 1000, **words: Any) -> list[Claim]:
        queues = words.get("queues", ["default"])
        lease_until = self.now + 10 * SECOND
        claimed = self(self.store.claim_runs(worker, queues, seats, lease_until, self.now))
        return list(claimed.claims)

    def settle(self, *ended: tuple[Run, rules.Outcome], worker: str = "w1") -> Any:
        return self(self.store.settle_runs(worker, list(ended), rules.settle, self.now))

    def rescue(self, limit: int = 1000) -> Any:
        return self(self.store.rescue_runs(self.now, limit, rules.settle))

    def change(self, identity: int, operation: Callable[..., Any], **words: Any) -> Any:
        return self(
            self.store.change_schedule(
                identity, lambda facts, now: operation(facts, now, **words), self.now
            )
        )

    def outcome(self, ending: str = "succeeded", **words: Any) -> rules.Outcome:
        return rules.Outcome(rules.Ending(ending), self.now, **words)


def new(key: str, now: int, **fields: Any) -> NewSchedule:
    target = {} if {"command", "plugin"} & fields.keys() else {"task": "work"}
    said = read_specification({**target, **fields}, key=key, now=now)
    return NewSchedule(key, said, None, "test")


def connection(ask: Asking) -> Any:
    """That to the file, for what only SQLite has."""
    return ask.store._walker._connection  # type: ignore[attr-defined]


def query(ask: Asking, text: str, *values: Any) -> list[tuple[Any, ...]]:
    """To look into the database, or to meddle with it, as somebody with a browser would."""
    if isinstance(ask.store, SqliteStore):
        connection = ask.store._walker._connection
        return [tuple(row) for row in connection.execute(text, values).fetchall()]

    async def caller() -> list[tuple[Any, ...]]:
        store = ask.store
        assert isinstance(store, PostgresStore)
        connection = await store._main.link.connection()
        await connection.execute(f"set search_path = {store._address.schema}")
        return [tuple(row) for row in await connection.fetch(text, *values)]

    return ask(caller())


@contextmanager
def statements(ask: Asking) -> Iterator[list[str]]:
    """The names of those that are asked for meanwhile."""
    caller: list[str] = []
    doing = ask.store._do

    def noting(verb: Callable[..., Statements[Any]], *values: Any, **named: Any) -> Any:
        def noted() -> Statements[Any]:
            steps, rows = verb(*values, **named), None
            while True:
                try:
                    step = steps.send(rows)
                except StopIteration as end:
                    return end.value
                caller.append(step.statement)
                rows = yield step

        return doing(noted)

    ask.store._do = noting  # type: ignore[method-assign]
    yield caller
    ask.store._do = doing  # type: ignore[method-assign]


@contextmanager
def asking(kind: str, folder: Path, now: str = "08:00") -> Iterator[Asking]:
    with asking_of(partial(STORES[kind], folder), at(now)) as ask:
        yield ask


@contextmanager
def asking_of(
    opening: Callable[[SetClock], Coroutine[Any, Any, Store]], now: int
) -> Iterator[Asking]:
    loop = asyncio.new_event_loop()
    clock = SetClock(now)
    ask = Asking(loop.run_until_complete(opening(clock)), clock, loop)
    try:
        yield ask
    finally:
        if "reads" in vars(ask):
            ask.reads.close()
        ask(ask.store.close())
        loop.close()
