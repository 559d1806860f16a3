"""Pairs of transactions on PostgreSQL, one of which is stopped before each of its statements.

While it stands there, another node runs the other one; where that has to wait for a lock, the first
one goes on. Whatever the order of their statements, the result must be that of one after the other:
every row the same, no attempt claimed twice, no deadlock.

A failover is the other kind of pair: the server loses its connections and its last transaction, and
the id of what was lost is given to another schedule. The transaction that was stopped fails; asked
again, it must do what a node without any memory does.

`make interleave` tries every pair in every world; a test tries some.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import combinations, count, product
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

import asyncpg

from harness.rules.world import at
from harness.store.server import server
from harness.store.stores import new
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.errors import QuarterjackError, Refused, StoreAway
from quarterjack.rules import Ending, Horizons, Limits, Outcome, Retention, Run
from quarterjack.store.postgres.connection import address_of, is_collision
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.store.types import (
    Caller,
    Claimed,
    DeclarationRules,
    Declared,
    Difference,
    NewSchedule,
    NodeInfo,
    StoredSchedule,
)
from quarterjack.times.instants import HOUR, SECOND

NOW, BEFORE = at("10:00"), at("09:00")
LIMITS = Limits(max_scheduled_jobs=5)
ASKED = Caller("ada", "test", "test", limits=LIMITS)

TRIES_MAX = 20
"""One that neither ends nor waits for a lock has collided, and is tried again and again."""
IF_RUNNING = ("allow", "skip", "queue", "cancel")
"""A world for each: what it does to a slot that comes due while an earlier run is open."""
TABLES: dict[str, list[str]] = {
    "counters": [],
    "metadata": [],
    "schedules": [],
    "specifications": [],
    "runs": ["request"],
    "attempts": [],
    "slots_not_run": [],
    "gates": [],
    "gate_changes": ["id"],
    "planner_state": [],
    "events": ["id", "about", "detail"],
    "outbox": ["id"],
    "audit": ["id"],
    "nodes": [],
    "daily_stats": [],
}
"""Each with the columns that say only who came first."""


class World:
    """Three schedules at 10:00, all of them due, two of them of one plugin; and three nodes.

    One run of the plugin is running, and the lease of its worker w1 has lapsed. A run of the third
    schedule has failed, and waits to be tried again. A fourth schedule is not due; its run has
    failed and is closed. A fifth is paused; if that is resumed, no more may be active."""

    running: Run
    waiting: Run
    closed: Run
    connection: asyncpg.Connection

    def __init__(self, url: str, if_running: str) -> None:
        self.if_running = if_running
        self.in_turn: dict[tuple[Turn, ...], tuple[str, ...]] = {}
        """What became of it, if some transactions ran one after the other."""
        self._address = address_of(url)
        self._nodes = [PostgresStore(self._address, SystemClock(), name) for name in "abc"]
        self.stopped, self.other, self.fresh = self._nodes

    async def open(self) -> World:
        for node in self._nodes:
            await node.open(create=True)
        self.connection = await asyncpg.connect(self._address.url)
        await self.connection.execute(f"set search_path = {self._address.schema}")
        await self._begin()
        for table in TABLES:
            await self.connection.execute(f"create table saved_{table} as table {table}")
        return self

    async def _begin(self) -> None:
        store, then = self.stopped, BEFORE - HOUR
        shared = {"plugin": "p", "circuit_breaker": {"threshold": 1, "reset_after": "10m"}}
        common = {
            "every": "1h",
            "if_running": self.if_running,
            "max_outstanding_polls": 0,
            "max_retries": 3,
            "retry_delay": "1s",
        }
        wanted = [
            new("alpha", then, **shared, **common),
            new("gamma", then, **common),
            new("beta", then, **shared, **common),
            new("delta", then, every="3h", first_run="now"),
            new("epsilon", then, every="3h"),
        ]
        owned = [each._replace(owner="file") for each in wanted]
        await store.add_schedules(owned, partial(_create, then), then)
        self.closed = await self._failed(then)
        await store.change_schedule("epsilon", partial(rules.pause, by="ada"), then)
        await store.plan_due(BEFORE, 10, rules.plan)
        found = await store.claim_runs("w1", ["default"], 2, NOW - SECOND, BEFORE)
        runs = {claim.key == "gamma": claim.run for claim in found.claims}
        self.running, self.waiting = runs[False], runs[True]
        await self._fail(self.waiting, BEFORE)

    async def _failed(self, now: int) -> Run:
        """A run that has failed, and is closed."""
        await self.stopped.plan_due(now, 10, rules.plan)
        found = await self.stopped.claim_runs("w1", ["default"], 1, now + SECOND, now)
        await self._fail(found.claims[0].run, now)
        return found.claims[0].run

    async def _fail(self, run: Run, now: int) -> None:
        failed = Outcome(Ending.FAILED, now, "exit code 1")
        await self.stopped.settle_runs("w1", [(run, failed)], rules.settle, now)

    async def close(self) -> None:
        await self.connection.close()
        for node in self._nodes:
            await node.close()

    async def restore(self) -> None:
        """As it was in the beginning; no node remembers anything."""
        for node in self._nodes:
            node._known._kept.clear()
            for link in (node._main.link, node._heart):
                async with link.lock:
                    if isinstance(link._made, Stopping):
                        link._made = link._made._connection
        await self.lose_transactions()

    async def lose_transactions(self) -> None:
        parts = [f"delete from {table}" for table in TABLES]
        parts += [
            f"insert into {table} overriding system value table saved_{table}" for table in TABLES
        ]
        await self.connection.execute("; ".join(parts))

    async def state(self) -> tuple[str, ...]:
        parts = [
            f"select '{table} ' || (to_jsonb(t) - array{hidden}::text[])::text from {table} t"
            for table, hidden in TABLES.items()
        ]
        # One event may be about the runs of one transaction, or of two.
        parts.append(
            "select concat_ws(' ', 'event', kind, at, each, detail)"
            " from events, jsonb_array_elements_text(about::jsonb) each"
        )
        rows = await self.connection.fetch(" union all ".join(parts))
        return tuple(sorted(row[0] for row in rows))

    async def waits(self, store: PostgresStore) -> bool:
        """Does it wait for a lock that another holds?"""
        links = (store._main.link, store._heart)
        pids = [link._made.get_server_pid() for link in links if link._made is not None]
        caller = "select bool_or(cardinality(pg_blocking_pids(pid)) > 0) from unnest($1::int[]) pid"
        return bool(await self.connection.fetchval(caller, pids))


class Stopping:
    """A connection that stops before one of its statements, until it may go on."""

    def __init__(self, connection: Any, before: int | None) -> None:
        self._connection = connection
        self._before = before
        self.caller = 0
        self.has_stopped, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.collisions: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def fetch(self, *caller: Any) -> Any:
        return await self._ask(self._connection.fetch, caller)

    async def execute(self, *caller: Any) -> Any:
        return await self._ask(self._connection.execute, caller)

    async def _ask(self, ask: Callable[..., Awaitable[Any]], caller: Sequence[Any]) -> Any:
        if self.caller == self._before:
            self.has_stopped.set()
            await self.may_go_on.wait()
        self.caller += 1
        try:
            return await ask(*caller)
        except asyncpg.PostgresError as error:
            if is_collision(error):
                self.collisions.append(f"{error}: {caller[0]}")
            raise


async def stopping(store: PostgresStore, before: int | None) -> list[Stopping]:
    """Its connections; the first one stops there, and so does the second, which renews leases."""
    made = []
    for link in (store._main.link, store._heart):
        async with link.lock:
            made.append(Stopping(await link.connection(), before))
            link._made = made[-1]  # type: ignore[assignment]
    return made


Transaction: TypeAlias = Callable[[PostgresStore, World], Awaitable[Any]]


def _create(now: int, identity: int, each: NewSchedule, active: int) -> Any:
    return rules.create(identity, each.key, each.specification, now, active=active, limits=LIMITS)


async def _settle(ending: Ending, store: PostgresStore, world: World) -> Any:
    outcome = Outcome(ending, NOW, None if ending is Ending.SUCCEEDED else "exit code 1")
    return await store.settle_runs("w1", [(world.running, outcome)], rules.settle, NOW)


async def _change(
    decide: Callable[..., Any], store: PostgresStore, world: World, **said: Any
) -> Any:
    which = world.running.schedule_id
    return await store.change_schedule(
        which, lambda facts, now: decide(facts, now, **said), NOW, ASKED
    )


async def _change_run(
    decide: Callable[..., Any], of: str, store: PostgresStore, world: World
) -> Any:
    return await store.change_run(getattr(world, of).id, decide, NOW, ASKED)


async def _edit(store: PostgresStore, world: World) -> Any:
    said = new("edited", NOW, every="30m", command=["edited"]).specification
    which = world.running.schedule_id
    return await store.edit_schedule(which, lambda *_: said, rules.edit, NOW, ASKED)


async def _run_now(store: PostgresStore, world: World) -> Any:
    return await store.change_schedule("alpha", rules.run_now, NOW, ASKED)


async def _resume(store: PostgresStore, world: World) -> Any:
    return await store.change_schedule("epsilon", rules.resume, NOW, ASKED)


async def _pause_all(which: Sequence[str], store: PostgresStore, world: World) -> Any:
    pause = partial(rules.pause, by="ada")
    return await store.change_schedules(which, pause, NOW, ASKED)


async def _declare(store: PostgresStore, world: World) -> Any:
    """One schedule is dropped while it runs, one is changed, one is new."""
    added = new("declared", NOW, every="1h")._replace(owner="file")
    changed = new("gamma", NOW, every="20m").specification

    def difference(stored: Sequence[StoredSchedule], declared: Declared) -> Difference:
        ids = {each.schedule.key: each.schedule.id for each in stored}
        return Difference(
            [] if "declared" in ids else [added],
            [(ids["gamma"], changed)] if "gamma" in ids else [],
            [each for each in ids.values() if each == world.running.schedule_id],
        )

    by = DeclarationRules(
        create=partial(_create, NOW),
        edit=rules.edit,
        delete=partial(rules.delete, though_running=True),
    )
    return await store.declare_schedules("file", [], difference, by, NOW, ASKED)


async def _add(store: PostgresStore, world: World, key: str = "added") -> Any:
    wanted = [new(key, BEFORE, every="1h", command=[key])]
    return await store.add_schedules(wanted, partial(_create, BEFORE), NOW, ASKED)


async def _plan(store: PostgresStore, world: World) -> Any:
    return await store.plan_due(NOW, 10, rules.plan)


async def _claim(store: PostgresStore, world: World) -> Any:
    return await store.claim_runs("w2", ["default"], 10, NOW + 10 * SECOND, NOW)


async def _rescue(store: PostgresStore, world: World) -> Any:
    return await store.rescue_runs(NOW, 10, rules.settle)


async def _renew(store: PostgresStore, world: World) -> Any:
    return await store.renew_leases("w1", [world.running], NOW + 10 * SECOND)


async def _roll_up(store: PostgresStore, world: World) -> Any:
    return await _prune(PruneProgress(left=("update_daily_stats",)), store, world)


async def _prune(progress: PruneProgress, store: PostgresStore, world: World) -> Any:
    everything, retention = Horizons(*[NOW] * 5), Retention(run_age=0, run_count=0)
    return await store.prune(everything, retention, progress, NOW + HOUR)


async def _register(store: PostgresStore, world: World) -> Any:
    node = NodeInfo("node", "elsewhere", 1, True, True, "1", "2026a", "", "", NOW, NOW)
    return await store.register(node)


async def _note_zone_data(store: PostgresStore, world: World) -> Any:
    await store.note_zone_data("2026a", NOW)
    return await store.note_zone_data("2026b", NOW)


TRANSACTIONS: dict[str, Transaction] = {
    "plan": _plan,
    "claim": _claim,
    "renew": _renew,
    "succeed": partial(_settle, Ending.SUCCEEDED),
    "fail": partial(_settle, Ending.FAILED),
    "rescue": _rescue,
    "cancel running": partial(_change_run, rules.cancel_run, "running"),
    "cancel waiting": partial(_change_run, rules.cancel_run, "waiting"),
    "retry waiting": partial(_change_run, rules.retry_run, "waiting"),
    "retry closed": partial(_change_run, rules.retry_run, "closed"),
    "pause": partial(_change, partial(rules.pause, by="ada")),
    "pause two": partial(_pause_all, ["gamma", "beta"]),
    "pause all": partial(_pause_all, ["gamma", "beta", "alpha"]),
    "resume": _resume,
    "delete": partial(_change, partial(rules.delete, though_running=True)),
    "edit": _edit,
    "run now": _run_now,
    "declare": _declare,
    "add": _add,
    "roll up": _roll_up,
    "prune": partial(_prune, PruneProgress(left=(), found=((1, 0), (2, 0), (3, 0), (4, 0)))),
    "register": _register,
    "zone data": _note_zone_data,
}
FAILOVER = "failover"


class Case(NamedTuple):
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} / {self.second}"


class FoundSchedule(NamedTuple):
    """What is wrong in one pair, at one statement."""

    world: str
    case: Case
    before: int
    problems: Sequence[str]

    def __str__(self) -> str:
        told = "\n  ".join(self.problems)
        return f"{self.world}: {self.case}, stopped before statement {self.before}:\n  {told}"


async def _answer(transaction: str, store: PostgresStore, world: World) -> Any:
    """What it answers; a refusal is an answer, too."""
    try:
        return await TRANSACTIONS[transaction](store, world)
    except QuarterjackError as error:
        return error


async def _afterwards(store: PostgresStore, world: World) -> list[Any]:
    """What skips rows that another has locked, does them when it is asked again."""
    return [await _answer(each, store, world) for each in ("plan", "claim", "plan", "claim")]


class Turn(NamedTuple):
    """A transaction that runs while the rows of some schedules are locked."""

    transaction: str
    skips: tuple[int, ...] = ()


SKIPS = {"plan": "schedules where id", "claim": "runs where schedule_id"}
"""What leaves a row to those who have locked it, and where these rows are."""


def _orders(case: Case) -> Iterator[tuple[Turn, Turn]]:
    """One after the other; and one without some rows, which it does afterwards."""
    for one, other in (case, tuple(reversed(case))):
        yield Turn(one), Turn(other)
    for one, other in (case, tuple(reversed(case))):
        for many in (1, 2, 3, 4) if one in SKIPS else ():
            for skipped in combinations((1, 2, 3, 4), many):
                yield Turn(one, skipped), Turn(other)


async def in_turn(world: World, turns: tuple[Turn, ...]) -> tuple[str, ...]:
    """The rows after these transactions, one after the other."""
    if turns in world.in_turn:
        return world.in_turn[turns]
    await world.restore()
    for turn in turns:
        async with world.connection.transaction():
            if turn.skips:
                lock = f"select 1 from {SKIPS[turn.transaction]} = any($1) for update"
                await world.connection.fetch(lock, turn.skips)
            await _answer(turn.transaction, world.other, world)
    await _afterwards(world.fresh, world)
    world.in_turn[turns] = await world.state()
    return world.in_turn[turns]


async def interleaved(world: World, case: Case, before: int) -> tuple[list[str], bool]:
    """What is wrong when the first one stops before that statement; and whether it has so many."""
    await world.restore()
    first = await stopping(world.stopped, before)
    second = await stopping(world.other, None)
    began = asyncio.create_task(_answer(case.first, world.stopped, world))
    stops = [asyncio.create_task(each.has_stopped.wait()) for each in first]
    await asyncio.wait([began, *stops], return_when=asyncio.FIRST_COMPLETED)
    for stop in stops:
        stop.cancel()
    if began.done():
        return [], False
    meanwhile = asyncio.create_task(_answer(case.second, world.other, world))
    for _ in range(TRIES_MAX):
        await asyncio.wait([meanwhile], timeout=0.003)
        if meanwhile.done() or await world.waits(world.other):
            break
    for each in first:
        each.may_go_on.set()
    answers = [await began, await meanwhile, *await _afterwards(world.fresh, world)]
    problems = [f"collision: {text}" for each in (*first, *second) for text in each.collisions]
    problems += [f"fails: {each}" for each in answers if isinstance(each, StoreAway)]
    problems += _claimed_twice(answers)
    state, serial = await world.state(), []
    for order in _orders(case):
        serial.append(await in_turn(world, order))
        if state == serial[-1]:
            return problems, True
    return [*problems, *_nearest(state, serial)], True


def _claimed_twice(answers: Sequence[Any]) -> list[str]:
    claimed = Counter(
        (claim.run.id, claim.run.attempt)
        for answer in answers
        if isinstance(answer, Claimed)
        for claim in answer.claims
    )
    return [f"claimed {many} times: {each}" for each, many in claimed.items() if many > 1]


def _nearest(state: Sequence[str], serial: Sequence[Sequence[str]]) -> list[str]:
    """How it differs from the order that is most like it."""
    nearest = min(serial, key=lambda other: len(set(other) ^ set(state)))
    missing, extra = Counter(nearest) - Counter(state), Counter(state) - Counter(nearest)
    return [
        "is like neither order",
        *(f"- {row}" for row in sorted(missing.elements())),
        *(f"+ {row}" for row in sorted(extra.elements())),
    ]


async def failed_over(world: World, case: Case, before: int) -> tuple[list[str], bool]:
    """The same, if the server fails over at that statement. Its last transaction added a schedule
    whose id is given to another one."""
    await world.restore()
    await _add(world.stopped, world, "lost")
    connections = await stopping(world.stopped, before)
    began = asyncio.create_task(_answer(case.first, world.stopped, world))
    stops = [asyncio.create_task(each.has_stopped.wait()) for each in connections]
    await asyncio.wait([began, *stops], return_when=asyncio.FIRST_COMPLETED)
    for stop in stops:
        stop.cancel()
    if began.done():
        return [], False
    for each in connections:
        each.terminate()
    await world.lose_transactions()
    await _add(world.other, world, "kept")
    for each in connections:
        each.may_go_on.set()
    problems = []
    if not isinstance(answer := await began, (StoreAway, Refused)):
        problems.append(f"it did not notice that its connection was lost: {answer}")
    again = await _answer(case.first, world.stopped, world)
    answers = [again, *await _afterwards(world.stopped, world)]
    problems += _claimed_twice(answers) + _wrong_commands(answers)
    state = await world.state()
    await world.restore()
    await _add(world.other, world, "kept")
    await _answer(case.first, world.fresh, world)
    await _afterwards(world.fresh, world)
    expected = await world.state()
    if state != expected:
        problems += _nearest(state, [expected])
    return problems, True


def _wrong_commands(answers: Sequence[Any]) -> list[str]:
    return [
        f"{claim.run.id} runs the command of a schedule that was lost"
        for answer in answers
        if isinstance(answer, Claimed)
        for claim in answer.claims
        if claim.specification.target.fields.get("command") == ["lost"]
    ]


async def tried(world: World, case: Case) -> tuple[list[FoundSchedule], int]:
    """One pair, at every statement of the first; how many places that were."""
    trial = failed_over if case.second == FAILOVER else interleaved
    found: list[FoundSchedule] = []
    for before in count():
        problems, has_stopped = await trial(world, case, before)
        if not has_stopped:
            return found, before
        if problems:
            found.append(FoundSchedule(world.if_running, case, before, problems))
    raise AssertionError("count never ends")


@asynccontextmanager
async def world_of(if_running: str) -> AsyncIterator[World]:
    world = World(f"{server().url}?schema=s{uuid4().hex[:12]}", if_running)
    await world.open()
    try:
        yield world
    finally:
        await world.close()


def cases() -> Iterator[Case]:
    for first, second in product(TRANSACTIONS, [*TRANSACTIONS, FAILOVER]):
        yield Case(first, second)


async def try_all(if_running: str, wanted: Sequence[Case]) -> int:
    """Print what is wrong, and how many places were tried."""
    places = 0
    found: list[FoundSchedule] = []
    async with world_of(if_running) as world:
        for case in wanted:
            wrong, tried_here = await tried(world, case)
            places += tried_here
            found += wrong
            for each in wrong:
                print(each, flush=True)
    print(
        f"{if_running}: {len(wanted)} pairs, {places} places, {len(found)} violations", flush=True
    )
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", help="only pairs with this transaction first")
    parser.add_argument("--second", help="only pairs with this transaction second")
    parser.add_argument("--world", action="append", choices=IF_RUNNING)
    said = parser.parse_args()
    wanted = [
        case
        for case in cases()
        if said.first in (None, case.first) and said.second in (None, case.second)
    ]
    began = time.monotonic()
    worlds = said.world or IF_RUNNING
    violations = sum(asyncio.run(try_all(each, wanted)) for each in worlds)
    print(f"{violations} violations in {time.monotonic() - began:.0f} s")
    sys.exit(bool(violations))


if __name__ == "__main__":
    main()
