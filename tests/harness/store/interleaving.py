"""Pairs of transactions on PostgreSQL, one of which is paused before each of its statements.

Meanwhile another node runs the other transaction. If that has to wait for a lock, the first one is
resumed. Whatever the order of their statements, the rows must be the same as after one of the two
serial orders; no attempt may be claimed twice, and there may be no deadlock.

A failover is the other kind of pair: the server loses its connections and its last transaction, and
the id that was lost is assigned to another schedule. The paused transaction fails; when repeated,
it must have the result that it has on a node with empty caches.

`make interleave` tries every pair with every policy; a test tries some.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import combinations, count, product
from typing import Any, NamedTuple
from uuid import uuid4

from harness.store.interleaving_database import IF_RUNNING, PairDatabase, pause_before
from harness.store.interleaving_transactions import TRANSACTIONS, add
from harness.store.server import server
from quarterjack.errors import QuarterjackError, Refused, StoreUnavailable
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.types import Claimed

TRIES_MAX = 20
"""How often to check whether a transaction has ended or waits for a lock. One that does neither has
run into a conflict, and retries."""
FAILOVER = "failover"


class Case(NamedTuple):
    first: str
    second: str

    def __str__(self) -> str:
        return f"{self.first} / {self.second}"


class Failure(NamedTuple):
    """What is wrong with one pair, paused at one statement."""

    if_running: str
    case: Case
    before: int
    problems: Sequence[str]

    def __str__(self) -> str:
        problems = "\n  ".join(self.problems)
        return (
            f"{self.if_running}: {self.case}, paused before statement {self.before}:\n  {problems}"
        )


async def _result(transaction: str, store: PostgresStore, database: PairDatabase) -> Any:
    """A refusal is a result as well."""
    try:
        return await TRANSACTIONS[transaction](store, database)
    except QuarterjackError as error:
        return error


async def _finish(store: PostgresStore, database: PairDatabase) -> list[Any]:
    """Run the transactions that skip locked rows once more, for the rows that they have skipped."""
    return [await _result(each, store, database) for each in ("plan", "claim", "plan", "claim")]


class SerialStep(NamedTuple):
    """A transaction that runs while the rows of some schedules are locked."""

    transaction: str
    skips: tuple[int, ...] = ()


SKIPS = {"plan": "schedules where id", "claim": "runs where schedule_id"}
"""The transactions that skip locked rows, and where these rows are."""


def _orders(case: Case) -> Iterator[tuple[SerialStep, SerialStep]]:
    """Both serial orders; and those in which a transaction skips some rows until later."""
    for one, other in (case, tuple(reversed(case))):
        yield SerialStep(one), SerialStep(other)
    for one, other in (case, tuple(reversed(case))):
        for size in (1, 2, 3, 4) if one in SKIPS else ():
            for skipped in combinations((1, 2, 3, 4), size):
                yield SerialStep(one, skipped), SerialStep(other)


async def run_serially(database: PairDatabase, steps: tuple[SerialStep, ...]) -> tuple[str, ...]:
    """The rows after these transactions, one after the other."""
    if steps in database.serial_states:
        return database.serial_states[steps]
    await database.restore()
    for step in steps:
        async with database.connection.transaction():
            if step.skips:
                lock = f"select 1 from {SKIPS[step.transaction]} = any($1) for update"
                await database.connection.fetch(lock, step.skips)
            await _result(step.transaction, database.other, database)
    await _finish(database.fresh, database)
    database.serial_states[steps] = await database.state()
    return database.serial_states[steps]


async def run_interleaved(
    database: PairDatabase, case: Case, before: int
) -> tuple[list[str], bool]:
    """What is wrong if the first one pauses before that statement, and whether it has so many."""
    await database.restore()
    first = await pause_before(database.paused, before)
    second = await pause_before(database.other, None)
    began = asyncio.create_task(_result(case.first, database.paused, database))
    stops = [asyncio.create_task(each.paused.wait()) for each in first]
    await asyncio.wait([began, *stops], return_when=asyncio.FIRST_COMPLETED)
    for stop in stops:
        stop.cancel()
    if began.done():
        return [], False
    meanwhile = asyncio.create_task(_result(case.second, database.other, database))
    for _ in range(TRIES_MAX):
        await asyncio.wait([meanwhile], timeout=0.003)
        if meanwhile.done() or await database.is_blocked(database.other):
            break
    for each in first:
        each.resumed.set()
    results = [await began, await meanwhile, *await _finish(database.fresh, database)]
    problems = [f"conflict: {text}" for each in (*first, *second) for text in each.conflicts]
    problems += [f"fails: {each}" for each in results if isinstance(each, StoreUnavailable)]
    problems += _claimed_twice(results)
    state, serial = await database.state(), []
    for order in _orders(case):
        serial.append(await run_serially(database, order))
        if state == serial[-1]:
            return problems, True
    return [*problems, *_nearest(state, serial)], True


def _claimed_twice(results: Sequence[Any]) -> list[str]:
    claimed = Counter(
        (claim.run.id, claim.run.attempt)
        for result in results
        if isinstance(result, Claimed)
        for claim in result.claims
    )
    return [f"claimed {times} times: {each}" for each, times in claimed.items() if times > 1]


def _nearest(state: Sequence[str], serial: Sequence[Sequence[str]]) -> list[str]:
    """The difference to the serial order with the most similar rows."""
    nearest = min(serial, key=lambda other: len(set(other) ^ set(state)))
    missing, extra = Counter(nearest) - Counter(state), Counter(state) - Counter(nearest)
    return [
        "the rows are those of no serial order",
        *(f"- {row}" for row in sorted(missing.elements())),
        *(f"+ {row}" for row in sorted(extra.elements())),
    ]


async def run_with_failover(
    database: PairDatabase, case: Case, before: int
) -> tuple[list[str], bool]:
    """The same for a failover of the server at that statement. It loses a transaction that added a
    schedule, and the id of that is assigned to another one."""
    await database.restore()
    await add(database.paused, database, "lost")
    connections = await pause_before(database.paused, before)
    began = asyncio.create_task(_result(case.first, database.paused, database))
    stops = [asyncio.create_task(each.paused.wait()) for each in connections]
    await asyncio.wait([began, *stops], return_when=asyncio.FIRST_COMPLETED)
    for stop in stops:
        stop.cancel()
    if began.done():
        return [], False
    for each in connections:
        each.terminate()
    await database.lose_transactions()
    await add(database.other, database, "kept")
    for each in connections:
        each.resumed.set()
    problems = []
    if not isinstance(result := await began, (StoreUnavailable, Refused)):
        problems.append(f"it did not notice that its connection was lost: {result}")
    again = await _result(case.first, database.paused, database)
    results = [again, *await _finish(database.paused, database)]
    problems += _claimed_twice(results) + _wrong_commands(results)
    state = await database.state()
    await database.restore()
    await add(database.other, database, "kept")
    await _result(case.first, database.fresh, database)
    await _finish(database.fresh, database)
    expected = await database.state()
    if state != expected:
        problems += _nearest(state, [expected])
    return problems, True


def _wrong_commands(results: Sequence[Any]) -> list[str]:
    return [
        f"{claim.run.id} runs the command of a schedule that was lost"
        for result in results
        if isinstance(result, Claimed)
        for claim in result.claims
        if claim.specification.target.fields.get("command") == ["lost"]
    ]


async def try_case(database: PairDatabase, case: Case) -> tuple[list[Failure], int]:
    """Try a pair at every statement of the first transaction. Returns the failures, and how many
    statements there are."""
    run = run_with_failover if case.second == FAILOVER else run_interleaved
    found: list[Failure] = []
    for before in count():
        problems, has_paused = await run(database, case, before)
        if not has_paused:
            return found, before
        if problems:
            found.append(Failure(database.if_running, case, before, problems))
    raise AssertionError("count never ends")


@asynccontextmanager
async def open_database(if_running: str) -> AsyncIterator[PairDatabase]:
    database = PairDatabase(f"{server().url}?schema=s{uuid4().hex[:12]}", if_running)
    await database.open()
    try:
        yield database
    finally:
        await database.close()


def cases() -> Iterator[Case]:
    for first, second in product(TRANSACTIONS, [*TRANSACTIONS, FAILOVER]):
        yield Case(first, second)


async def try_all(if_running: str, wanted: Sequence[Case]) -> int:
    """Print what is wrong. Returns the number of failures."""
    statements = 0
    found: list[Failure] = []
    async with open_database(if_running) as database:
        for case in wanted:
            failures, tried = await try_case(database, case)
            statements += tried
            found += failures
            for each in failures:
                print(each, flush=True)
    print(
        f"{if_running}: {len(wanted)} pairs, {statements} statements, {len(found)} failures",
        flush=True,
    )
    return len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", help="only pairs with this transaction first")
    parser.add_argument("--second", help="only pairs with this transaction second")
    parser.add_argument("--if-running", action="append", choices=IF_RUNNING)
    options = parser.parse_args()
    wanted = [
        case
        for case in cases()
        if options.first in (None, case.first) and options.second in (None, case.second)
    ]
    began = time.monotonic()
    policies = options.if_running or IF_RUNNING
    failures = sum(asyncio.run(try_all(each, wanted)) for each in policies)
    print(f"{failures} failures in {time.monotonic() - began:.0f} s")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
