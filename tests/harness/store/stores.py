"""Stores for tests, with a synchronous client. Another kind of store is one line in `STORES`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import pytest

from harness.rules.values import at
from harness.store.server import server
from harness.store.stored_world import ManualClock
from quarterjack import rules
from quarterjack.rules import Limits, Run, Schedule, read_specification
from quarterjack.store.address import address_of
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import open_database
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import Statements
from quarterjack.store.store import Store
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.types import Caller, Claim, NewSchedule
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND

T = TypeVar("T")


async def sqlite(folder: Path, clock: ManualClock) -> Store:
    path = folder / "quarterjack.db"
    return SqliteStore(open_database(path, now=clock.now(), create=True), path, clock, KINDS)


async def postgres(folder: Path, clock: ManualClock) -> Store:
    return await postgres_at(f"{server().url}?schema=s{uuid4().hex[:12]}", clock)


async def postgres_at(url: str, clock: ManualClock) -> Store:
    return await PostgresStore(address_of(url), clock, "tests", KINDS).open(create=True)


STORES = {"SQLite": sqlite, "PostgreSQL": postgres}
DATABASES = ["SQLite", pytest.param("PostgreSQL", marks=pytest.mark.unmeasured)]
"""For tests that simulate many hours; those on PostgreSQL are left out of the coverage."""


class StoreClient:
    """A store with a synchronous interface, and shortcuts for what tests do with it."""

    def __init__(self, store: Store, clock: ManualClock, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.clock = clock
        self._loop = loop

    @cached_property
    def reads(self) -> Reader:
        return Reader(self.url, KINDS)

    @property
    def url(self) -> str:
        store = self.store
        if isinstance(store, SqliteStore):
            return f"sqlite:///{store._path}"
        assert isinstance(store, PostgresStore)
        return f"{store._address.url}?schema={store._address.schema}"

    def __call__(self, call: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(asyncio.wait_for(call, 60))

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
            return rules.create(
                identity, each.key, each.specification, now, active=active, limits=limits
            )

        self(put_limits(self.store, limits))
        caller = Caller("ada", "test", "create")
        return list(self(self.store.add_schedules(lambda _: (wanted, decide), now, caller)))

    def plan(self, limit: int = 1000) -> Any:
        return self(self.store.plan_due(self.now, limit, rules.plan))

    def claim(self, worker: str = "w1", limit: int = 1000, **words: Any) -> list[Claim]:
        queues = words.get("queues", ["default"])
        lease_until = self.now + 10 * SECOND
        claimed = self(self.store.claim_runs(worker, queues, limit, lease_until, self.now))
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


async def put_limits(store: Store, limits: Limits) -> None:
    """As the last start of a service stored them."""
    await store.put_metadata(SERVICE_SETTINGS, rules.ServiceSettings(limits=limits).to_text())


def new(key: str, now: int, **fields: Any) -> NewSchedule:
    target = {} if {"command", "plugin"} & fields.keys() else {"task": "work"}
    specification = read_specification({**target, **fields}, kinds=KINDS, key=key, now=now)
    return NewSchedule(key, specification, None, "test")


def connection(client: StoreClient) -> Any:
    """The connection of a store on SQLite."""
    return client.store._executor._connection  # type: ignore[attr-defined]


def query(client: StoreClient, text: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run SQL behind the back of the store, as with a database browser."""
    if isinstance(client.store, SqliteStore):
        connection = client.store._executor._connection
        return [tuple(row) for row in connection.execute(text, values).fetchall()]

    async def fetch() -> list[tuple[Any, ...]]:
        store = client.store
        assert isinstance(store, PostgresStore)
        link = store._executor.connection
        async with link.lock:
            connection = await link.get()
            await connection.execute(f"set search_path = {store._address.schema}")
            return [tuple(row) for row in await connection.fetch(text, *values)]

    return client(fetch())


@contextmanager
def statements(client: StoreClient) -> Iterator[list[str]]:
    """Records the names of the statements that are executed meanwhile."""
    names: list[str] = []
    transact = client.store._transact

    def recording(transaction: Callable[..., Statements[Any]], *values: Any, **named: Any) -> Any:
        def recorded() -> Statements[Any]:
            running, rows = transaction(*values, **named), None
            while True:
                try:
                    query = running.send(rows)
                except StopIteration as end:
                    return end.value
                names.append(query.statement)
                rows = yield query

        return transact(recorded)

    client.store._transact = recording  # type: ignore[method-assign]
    yield names
    client.store._transact = transact  # type: ignore[method-assign]


@contextmanager
def open_client(kind: str, folder: Path, now: str = "08:00") -> Iterator[StoreClient]:
    with client_of(partial(STORES[kind], folder), at(now)) as client:
        yield client


@contextmanager
def client_of(
    opening: Callable[[ManualClock], Coroutine[Any, Any, Store]], now: int
) -> Iterator[StoreClient]:
    loop = asyncio.new_event_loop()
    clock = ManualClock(now)
    client = StoreClient(loop.run_until_complete(opening(clock)), clock, loop)
    try:
        yield client
    finally:
        if "reads" in vars(client):
            client.reads.close()
        client(client.store.close())
        loop.close()
