"""What only PostgreSQL has: many nodes at once, locks, lost connections, hints, a clock."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from harness.store.dead_rows import claims_beside_dead_rows
from harness.store.pool import pooled
from harness.store.server import server
from harness.store.stores import new
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.errors import StoreAway, StoreUnusable
from quarterjack.rules import Ending, Limits, Outcome, Run, Specification
from quarterjack.store.migrations import Migration, migrations
from quarterjack.store.postgres.connection import address_of
from quarterjack.store.postgres.executor import batch_of
from quarterjack.store.postgres.group_commit import USES_PER_PLAN, settings
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.statements import SQL_FOLDER, sql
from quarterjack.store.types import NewSchedule
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND

OURS = migrations("postgres")
LATEST = OURS[-1].number


@pytest.fixture
def url() -> str:
    return f"{server().url}?schema=s{uuid4().hex[:12]}"


@pytest.fixture
def live() -> Iterator[Callable[[Awaitable[Any]], Any]]:
    with asyncio.Runner() as runner:
        yield lambda doing: runner.run(asyncio.wait_for(doing, 30))


@asynccontextmanager
async def stores(url: str, count: int = 2) -> AsyncIterator[list[PostgresStore]]:
    """Several nodes on one database."""
    made = [PostgresStore(address_of(url), SystemClock(), f"node {n}") for n in range(count)]
    await asyncio.gather(*(store.open(create=True) for store in made))
    try:
        yield made
    finally:
        await asyncio.gather(*(store.close() for store in made))


async def stranger(url: str) -> asyncpg.Connection:
    """With the settings of ours, but for its patience."""
    address = address_of(url)
    connection = await asyncpg.connect(address.url)
    said = "; ".join(f"set {name} = {value}" for name, value in settings(address).items())
    await connection.execute(f"{said}; set idle_in_transaction_session_timeout = 0")
    return connection


async def add(store: PostgresStore, count: int = 1, key_prefix: str = "k", **fields: Any) -> None:
    """Schedules that are due."""
    then = store.now() - 2 * HOUR
    said = {"every": "1h", **fields}
    wanted = [new(f"{key_prefix}{number}", then, **said) for number in range(count)]

    def decide(identity: int, each: NewSchedule, active: int) -> Any:
        key, said = each.key, each.specification
        return rules.create(identity, key, said, then, active=active, limits=Limits())

    await store.add_schedules(wanted, decide, then)


def pause(facts: Any, now: int) -> Any:
    return rules.pause(facts, now, by="ada")


async def claimed(store: PostgresStore, worker: str, seats: int = 1000) -> list[Run]:
    now = store.now()
    found = await store.claim_runs(worker, ["default"], seats, now + 10 * SECOND, now)
    return [claim.run for claim in found.claims]


class TestManyNodes:
    def test_start_at_once_and_make_the_schema_once(self, url: str, live: Any):
        async def started() -> int:
            async with stores(url, 8):
                connection = await stranger(url)
                count = await connection.fetchval("select count(*) from migrations")
                await connection.close()
                return int(count)

        assert live(started()) == len(OURS)

    def test_plan_each_slot_once_and_none_is_left(self, url: str, live: Any):
        async def planned() -> tuple[list[int], int, int]:
            async with stores(url, 4) as nodes:
                await add(nodes[0], 200)
                found = []
                for _ in range(20):
                    now = nodes[0].now()
                    caller = [node.plan_due(now, 50, rules.plan) for node in nodes]
                    found += [each.looked_at for each in await asyncio.gather(*caller)]
                connection = await stranger(url)
                rows = await connection.fetchval("select count(*) from runs")
                slots = "select count(distinct (schedule_id, slot)) from runs"
                distinct = await connection.fetchval(slots)
                await connection.close()
                return found, rows, distinct

        found, rows, distinct = live(planned())
        assert (sum(found), rows, distinct) == (200, 200, 200)
        assert len([count for count in found if count]) > 1, "more than one took part"

    def test_are_given_different_runs(self, url: str, live: Any):
        async def given() -> list[list[Run]]:
            async with stores(url, 4) as nodes:
                await add(nodes[0], 200)
                await nodes[0].plan_due(nodes[0].now(), 1000, rules.plan)
                return await asyncio.gather(
                    *(claimed(node, f"w{number}", 40) for number, node in enumerate(nodes))
                )

        runs = [run.id for each in live(given()) for run in each]
        assert len(runs) == len(set(runs)) == 160

    def test_count_every_failure_of_a_breaker_that_they_share(self, url: str, live: Any):
        breaker = {"name": "shared", "threshold": 1000, "reset_after": "1h"}

        async def failed() -> int:
            async with stores(url, 4) as nodes:
                await add(nodes[0], 40, circuit_breaker=breaker)
                await nodes[0].plan_due(nodes[0].now(), 1000, rules.plan)
                runs = await claimed(nodes[0], "w", 40)
                outcome = Outcome(Ending.FAILED, nodes[0].now(), "no")
                caller = [
                    nodes[number % 4].settle_runs("w", [(run, outcome)], rules.settle, outcome.at)
                    for number, run in enumerate(runs)
                ]
                await asyncio.gather(*caller)
                connection = await stranger(url)
                failures = await connection.fetchval("select failures from gates")
                await connection.close()
                return int(failures)

        assert live(failed()) == 40


class TestLocks:
    def test_a_schedule_that_another_node_decides_is_left_to_it(self, url: str, live: Any):
        async def looked() -> tuple[int, int, int, int]:
            async with stores(url, 1) as (store,):
                await add(store, 2)
                other = await stranger(url)
                await other.execute("begin; select 1 from schedules where id = 1 for update")
                now = store.now()
                first = await store.plan_due(now, 10, rules.plan)
                await other.execute("rollback")
                second = await store.plan_due(now, 10, rules.plan)
                await other.close()
                assert first.next_wake is not None
                return first.looked_at, first.next_wake - now, second.looked_at, second.added

        assert live(looked()) == (1, 10 * MILLISECOND, 1, 1)

    @pytest.mark.parametrize("free", [0, 1])
    def test_a_run_that_another_node_takes_is_looked_at_again_soon(
        self, url: str, live: Any, free: int
    ):
        """Also if there was another one to take."""

        async def looked() -> tuple[int, int]:
            async with stores(url, 1) as (store,):
                await add(store, 1 + free)
                await store.plan_due(store.now(), 10, rules.plan)
                other = await stranger(url)
                await other.execute("begin; select 1 from runs where schedule_id = 1 for update")
                now = store.now()
                found = await store.claim_runs("w", ["default"], 5, now + SECOND, now)
                await other.close()
                assert found.next_ready is not None
                return len(found.claims), found.next_ready - now

        assert live(looked()) == (free, 10 * MILLISECOND)

    def test_a_lease_that_is_renewed_at_the_last_moment_is_not_taken(self, url: str, live: Any):
        """The rescuer has seen that it lapsed, and waits for the schedule."""

        async def rescued() -> tuple[int, str]:
            async with stores(url) as (worker, rescuer):
                await add(worker)
                now = worker.now()
                await worker.plan_due(now, 10, rules.plan)
                found = await worker.claim_runs("w", ["default"], 1, now, now)
                run = found.claims[0].run
                other = await stranger(url)
                await other.execute("begin; select 1 from schedules for update")
                rescuing = asyncio.create_task(rescuer.rescue_runs(now, 10, rules.settle))
                await waiting(url)
                await worker.renew_leases("w", [run], now + HOUR)
                await other.execute("rollback")
                lost = (await rescuing).lost
                state = await other.fetchval("select state from runs")
                await other.close()
                return len(lost), str(state)

        assert live(rescued()) == (0, "running")

    def test_those_who_stand_in_each_others_way_begin_anew(self, url: str, live: Any):
        """A stranger locks in the wrong order; PostgreSQL ends one of the two."""

        async def collided() -> str:
            async with stores(url, 1) as (store,):
                await add(store, 2)
                other = await stranger(url)
                await other.execute("set deadlock_timeout = '5s'")
                await other.execute("begin; select 1 from schedules where id = 2 for update")
                asking = asyncio.create_task(store.change_schedules([1, 2], pause, store.now()))
                await waiting(url)
                await other.execute("select 1 from schedules where id = 1 for update; commit")
                await asking
                status = await other.fetchval(
                    "select string_agg(distinct status, ' ') from schedules"
                )
                await other.close()
                return str(status)

        assert live(collided()) == "paused"

    @pytest.mark.fault("F22")
    @pytest.mark.parametrize("state", ["40001", "40P01"])
    def test_a_collision_at_any_statement_that_writes_is_lived_through(
        self, url: str, live: Any, state: str
    ):
        """The first one that writes collides, then the second one, until none is left."""

        async def collided() -> tuple[int, list[str]]:
            async with stores(url, 1) as (store,):
                other = await stranger(url)
                await other.execute(COLLIDING.format(state=state))
                for number in itertools.count(1):
                    await other.execute(f"select setval('written', {2**40 - number})")
                    await add(store, 2, key_prefix=f"{number}-")
                    await store.plan_due(store.now(), 100, rules.plan)
                    ended = [
                        (run, Outcome(Ending.SUCCEEDED, store.now()))
                        for run in await claimed(store, "w1")
                    ]
                    assert len(ended) == 2
                    assert not (await settled(store, ended)).fenced
                    if await other.fetchval("select last_value from written") < 2**40:
                        break
                states = await other.fetch("select distinct state from runs")
                await other.close()
                return number - 1, [row[0] for row in states]

        places, states = live(collided())

        assert places > 8, "so many statements write on the way of a run"
        assert states == ["succeeded"]

    @pytest.mark.fault("F63")
    def test_a_column_that_a_newer_program_adds_harms_nobody_and_is_kept(self, url: str, live: Any):
        """Its statements were prepared before, and what they return has changed."""

        async def lived() -> tuple[list[str], list[int]]:
            async with stores(url, 1) as (store,):
                await add(store, 2, circuit_breaker={"threshold": 1, "reset_after": "1h"})
                await store.plan_due(store.now(), 100, rules.plan)
                runs = await claimed(store, "w1")
                other = await stranger(url)
                for table in ("schedules", "runs", "specifications", "attempts", "gates", "nodes"):
                    await other.execute(f"alter table {table} add column later int default 7")
                await settled(store, [(run, Outcome(Ending.FAILED, store.now())) for run in runs])
                await store.plan_due(store.now() + HOUR, 100, rules.plan)
                await store.change_schedules([1, 2], pause, store.now() + HOUR)
                status = await other.fetch("select status, status_reason from schedules")
                later = await other.fetch(
                    "select distinct later from schedules join runs using (later)"
                )
                await other.close()
                return [row[0] for row in status], [row[0] for row in later]

        assert live(lived()) == (["paused", "paused"], [7])


COLLIDING = """
create sequence written;
create function collide() returns trigger language plpgsql as $$
begin
    if nextval('written') = 2^40 then
        raise exception 'collided' using errcode = '{state}';
    end if;
    return null;
end
$$;
""" + "".join(
    f"create trigger collide before insert or update or delete on {table}"
    " for each statement execute function collide();\n"
    for table in (
        "schedules", "specifications", "runs", "attempts", "planner_state", "events", "audit",
        "counters"
    )
)  # fmt: skip


async def settled(store: PostgresStore, ended: list[tuple[Run, Outcome]]) -> Any:
    return await store.settle_runs("w1", ended, rules.settle, store.now())


async def waiting(url: str) -> None:
    """Until somebody waits for a lock."""
    connection = await stranger(url)
    caller = "select count(*) from pg_locks where not granted"
    for _ in range(500):
        if await connection.fetchval(caller):
            break
        await asyncio.sleep(0.01)
    else:
        raise AssertionError("nobody waits")
    await connection.close()


class TestConnections:
    @pytest.mark.fault("F16")
    def test_one_that_is_lost_in_a_transaction_is_made_anew(self, url: str, live: Any):
        async def lost() -> str:
            async with stores(url, 1) as (store,):
                await add(store)
                other = await stranger(url)
                await other.execute("begin; select 1 from schedules for update")
                asking = asyncio.create_task(store.change_schedule(1, pause, store.now()))
                await waiting(url)
                await other.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity"
                    " where application_name = 'node 0'"
                )
                with pytest.raises(StoreAway, match=r"the connection is lost|being stopped"):
                    await asking
                await other.execute("rollback")
                status = await other.fetchval("select status from schedules")
                await other.close()
                plans = await store.change_schedule(1, pause, store.now())
                return f"{status}, {plans.plans[0].schedule.status}"

        assert live(lost()) == "active, paused"

    @pytest.mark.fault("F17", "F24")
    @pytest.mark.parametrize("is_pooled", [False, True])
    def test_a_version_that_a_failover_gave_again_is_read_again(
        self, url: str, live: Any, is_pooled: bool
    ):
        """The new primary has lost the last transaction, and the id goes to another schedule.
        Behind a pooler the connection to that stays, and nothing tells of the failover."""

        async def caller(address: str) -> tuple[str, Specification, str]:
            node = await PostgresStore(address_of(address), SystemClock(), "a").open(create=True)
            async with stores(url, 1) as [other]:
                await add(node, command=["remove", "/srv/old"])
                primary = await stranger(url)
                await primary.execute(
                    "delete from schedules; delete from specifications;"
                    " update counters set value = 0"
                )
                if not is_pooled:
                    assert node._main.link._made is not None
                    node._main.link._made.terminate()
                await add(other, key_prefix="other", command=["back", "up"], every="2h")
                await node.plan_due(node.now(), 10, rules.plan)
                now = node.now()
                found = await node.claim_runs("w", ["default"], 5, now + 10 * SECOND, now)
                (claim,) = found.claims
                body = await primary.fetchval("select body from specifications")
                await primary.close()
                await node.close()
                return claim.key, claim.specification, body

        with pooled(f"{url}&sslmode=disable", server().port) as through:
            key, specification, body = live(caller(through if is_pooled else url))

        assert (key, specification.text) == ("other0", body)
        assert specification.target.fields["command"] == ["back", "up"]

    @pytest.mark.fault("F16")
    def test_a_farewell_that_was_not_heard_yet_is_a_lost_connection(self, url: str, live: Any):
        """And no fault of what is asked next."""

        async def log_fields() -> set[str]:
            answers = set()
            async with stores(url, 1) as (store,):
                other = await stranger(url)
                for _ in range(30):
                    pid = (await store._main.link.connection()).get_server_pid()
                    await other.execute(f"select pg_terminate_backend({pid})")
                    try:
                        answers.add(str(await store.read_metadata("anything")))
                    except StoreAway:
                        answers.add("away")
                await other.close()
            return answers

        assert live(log_fields()) <= {"away", "None"}

    @pytest.mark.fault("F20")
    def test_a_table_that_somebody_locks_keeps_nobody_from_the_clock(self, url: str, live: Any):
        async def beaten() -> int:
            async with stores(url, 1) as (store,):
                other = await stranger(url)
                await other.execute("begin; lock table runs in share mode")
                store._heart.drop()
                await store.heartbeat()
                async with stores(url, 1) as (newcomer,):
                    await newcomer.heartbeat()
                await other.close()
                return 2

        assert live(beaten()) == 2

    @pytest.mark.fault("F20")
    def test_a_lock_that_is_held_for_too_long_is_told_and_nothing_changed(
        self, url: str, live: Any, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.store.postgres.group_commit.LOCK_SECONDS", 0.2)

        async def blocked() -> None:
            async with stores(url, 1) as (store,):
                await add(store)
                other = await stranger(url)
                await other.execute("begin; select 1 from schedules for update")
                try:
                    await store.change_schedule(1, pause, store.now())
                finally:
                    await other.close()

        with pytest.raises(StoreAway, match="another transaction holds a lock for too long"):
            live(blocked())

    def test_nobody_there_is_told_with_advice_and_without_secrets(self, live: Any):
        address = address_of("postgresql://ada:secret@127.0.0.1:1/app")

        with pytest.raises(StoreAway) as told:
            live(PostgresStore(address, SystemClock(), "node").open(create=True))

        assert re.match(
            r"database postgresql://127.0.0.1:1/app: the connection is lost \(.*\);"
            " work goes on when it is back",
            str(told.value),
        )
        assert "secret" not in str(told.value)


class TestHints:
    def test_what_one_node_writes_is_told_to_the_others_and_not_to_itself(
        self, url: str, live: Any
    ):
        async def hinted() -> list[str]:
            heard: list[str] = []
            async with stores(url) as (one, other):
                told = asyncio.Event()

                def hint() -> None:
                    heard.append("other")
                    told.set()

                watching = [
                    asyncio.create_task(one.watch(lambda: heard.append("one"))),
                    asyncio.create_task(other.watch(hint)),
                ]
                await add(one)
                await told.wait()
                for each in watching:
                    each.cancel()
            return heard

        assert live(hinted()) == ["other"]

    @pytest.mark.fault("F25")
    def test_are_few_however_much_is_written(self, url: str, live: Any):
        async def hinted() -> tuple[int, int]:
            heard: list[int] = []
            async with stores(url) as (one, other):
                watching = asyncio.create_task(other.watch(lambda: heard.append(1)))
                began = one.now()
                for number in range(100):
                    await one.put_metadata("x", str(number))
                lasted = one.now() - began
                await asyncio.sleep(0.2)
                watching.cancel()
            return len(heard), lasted // (50 * MILLISECOND) + 2

        heard, most = live(hinted())
        assert 0 < heard <= most


def test_the_time_is_that_of_the_database(url: str, live: Any):
    class Ahead(SystemClock):
        def since_boot(self) -> int:
            return super().since_boot() + 1000 * HOUR

        def now(self) -> int:
            raise AssertionError("the host's own clock is not asked")

    async def read() -> int:
        store = await PostgresStore(address_of(url), Ahead(), "node").open(create=True)
        try:
            return store.now() - SystemClock().now()
        finally:
            await store.close()

    assert abs(live(read())) < 50 * MILLISECOND


class TestTheSchema:
    def test_a_name_that_could_be_something_else_is_refused(self):
        with pytest.raises(StoreUnusable, match="use lower-case letters, digits and _"):
            address_of("postgresql://app@db/app?schema=a;drop")

    def test_is_not_made_by_those_who_only_ask(self, url: str, live: Any):
        store = PostgresStore(address_of(url), SystemClock(), "node")

        with pytest.raises(StoreUnusable, match="nothing of ours is there; start `quarterjack up`"):
            live(store.open(create=False))

    def test_of_a_newer_program_is_refused(self, url: str, live: Any):
        later = [*OURS, Migration(LATEST + 1, "more", "create table more (id bigint)")]

        async def opened() -> None:
            address = address_of(url)
            store = await PostgresStore(address, SystemClock(), "n").open(create=True, steps=later)
            await store.close()
            await PostgresStore(address, SystemClock(), "n").open(create=True)

        with pytest.raises(StoreUnusable, match="use the newer program"):
            live(opened())

    def test_that_cannot_be_made_whole_is_not_made(self, url: str, live: Any):
        broken = [*OURS, Migration(LATEST + 1, "broken", "create nonsense")]

        async def opened() -> tuple[str, int]:
            store = PostgresStore(address_of(url), SystemClock(), "n")
            with pytest.raises(StoreUnusable) as told:
                await store.open(create=True, steps=broken)
            other = await stranger(url)
            caller = "select count(*) from pg_namespace where nspname = $1"
            left = await other.fetchval(caller, address_of(url).schema)
            await other.close()
            return str(told.value), left

        told, left = live(opened())
        assert "syntax error" in told
        assert left == 0


class TestStatements:
    NAMES = sorted(
        {file.stem for file in [*SQL_FOLDER.glob("*.sql"), *SQL_FOLDER.glob("postgres/*.sql")]}
    )

    MANY = re.compile(r"^values \(|^update ", re.MULTILINE)
    ONE = re.compile(r"returning|any\(")

    def test_all_of_them_are_understood_for_one_row_and_for_many(self, url: str, live: Any):
        async def prepared() -> int:
            count = 0
            async with stores(url, 1):
                connection = await stranger(url)
                for name in self.NAMES:
                    for text in sql(name, "postgres").split(";\n"):
                        found = await connection.prepare(text)
                        types = [parameter.name for parameter in found.get_parameters()]
                        if types and self.MANY.search(text) and not self.ONE.search(text):
                            await connection.prepare(batch_of(text, tuple(types)))
                            count += 1
                await connection.close()
            return count

        assert live(prepared()) > 15

    def test_are_no_more_for_a_thousand_than_for_two_and_fewer_for_one(self, url: str, live: Any):
        """Single rows of several tables travel together."""

        async def counted(due: int) -> int:
            async with stores(f"{url}{due}", 1) as (store,):
                await add(store, due)
                before = store.statements
                await store.plan_due(store.now(), 1000, rules.plan)
                runs = await claimed(store, "w")
                outcome = Outcome(Ending.SUCCEEDED, store.now())
                await store.settle_runs("w", [(r, outcome) for r in runs], rules.settle, outcome.at)
                return store.statements - before

        assert live(counted(999)) == live(counted(2)) == 20
        assert live(counted(1)) == 15

    @pytest.mark.parametrize("analyzed", [False, True])
    @pytest.mark.parametrize(
        "name", ["put_schedules", "close_runs", "put_runs", "close_waiting_runs"]
    )
    def test_a_batch_looks_each_row_up_by_its_identity(
        self, url: str, live: Any, name: str, analyzed: bool
    ):
        """Whatever PostgreSQL believes of how many are running, or not deleted."""

        async def plans() -> tuple[str, str]:
            async with stores(url, 1) as (store,):
                await planned(store, url, analyzed=analyzed)
                connection = await stranger(url)
                return await explained(connection, *await many(connection, name, 500))

        assert all(
            re.search(r"Index Scan using (runs|schedules)_pkey", each) for each in live(plans())
        )

    @pytest.mark.parametrize("analyzed", [False, True])
    @pytest.mark.parametrize("name", ["held_leases", "renew_leases"])
    def test_leases_are_looked_up_by_their_runs(
        self, url: str, live: Any, name: str, analyzed: bool
    ):
        wanted = [list(range(1, 501)), [0] * 500, [1] * 500]
        values = [*wanted, "w"] if name == "held_leases" else [5, "w", *wanted]

        async def plans() -> tuple[str, str]:
            async with stores(url, 1) as (store,):
                await planned(store, url, analyzed=analyzed)
                return await explained(await stranger(url), sql(name, "postgres"), values)

        assert all("Index Scan using runs_pkey" in each for each in live(plans()))


async def planned(store: PostgresStore, url: str, *, analyzed: bool) -> None:
    """Schedules, each with a run that is running; if it was analyzed, that was before."""
    await add(store, 2000)
    for _ in range(2):
        await store.plan_due(store.now(), 1000, rules.plan)
    connection = await stranger(url)
    if analyzed:
        await connection.execute("analyze")
    await connection.close()
    for _ in range(2):
        await claimed(store, "w")


async def many(connection: asyncpg.Connection, name: str, count: int) -> tuple[str, list[Any]]:
    """A statement for many rows, with values for them."""
    text = sql(name, "postgres")
    types = [each.name for each in (await connection.prepare(text)).get_parameters()]
    values = [
        "{" + ",".join(map(str, range(count))) + "}" if kind == "int8" else ["x"] * count
        for kind in types
    ]
    return batch_of(text, tuple(types)), values


async def explained(
    connection: asyncpg.Connection, text: str, values: list[Any]
) -> tuple[str, str]:
    """How it is carried out with these values, and with a plan that is kept for all values."""
    with_these = await connection.fetch(f"explain {text}", *values)
    await connection.execute(f"set plan_cache_mode = force_generic_plan; prepare kept as {text}")
    nothing = ", ".join(["null"] * len(values))
    with_any = await connection.fetch(f"explain execute kept({nothing})")
    await connection.close()
    of_these, of_any = ("\n".join(row[0] for row in rows) for rows in (with_these, with_any))
    return of_these, of_any


def test_a_claim_reads_no_more_of_a_herd_than_it_takes(url: str, live: Any):
    async def planned() -> list[str]:
        async with stores(url, 1) as (store,):
            await add(store, 1000)
            await store.plan_due(store.now(), 1000, rules.plan)
            connection = await stranger(url)
            await connection.execute(f"prepare claim as {sql('claim_runs', 'postgres')}")
            await connection.execute("set plan_cache_mode = force_generic_plan")
            values = f"'w', {store.now()}, {store.now()}, 'default', 0, 5"
            rows = await connection.fetch(f"explain (analyze, timing off) execute claim({values})")
            await connection.close()
            return [line for (line,) in rows]

    (scan,) = [line for line in live(planned()) if "runs_queued" in line]

    assert "rows=5" in scan.partition("actual")[2]


def test_a_plan_that_was_made_while_a_table_was_empty_is_not_kept_for_long(url: str, live: Any):
    """It may read all that a schedule ever ran, for each of its runs."""

    async def rows_read(connection: asyncpg.Connection) -> int:
        await connection.execute("select pg_stat_force_next_flush()")
        await connection.execute("select pg_stat_clear_snapshot()")
        caller = "select sum(idx_tup_read)::int from pg_stat_user_indexes where schemaname = $1"
        return int(await connection.fetchval(caller, address_of(url).schema))

    async def fired(store: PostgresStore) -> None:
        await store.change_schedule(1, rules.run_now, store.now())
        (run,) = await claimed(store, "w")
        ended = Outcome(Ending.SUCCEEDED, store.now())
        await store.settle_runs("w", [(run, ended)], rules.settle, ended.at)

    async def read() -> int:
        async with stores(url, 1) as (store,):
            await add(store, if_running="allow")
            await store.plan_due(store.now(), 10, rules.plan)
            await claimed(store, "w")
            await fired(store)
            other = await stranger(url)
            await other.execute(HISTORY)
            for _ in range(USES_PER_PLAN):
                await claimed(store, "w")
            connection = await store._main.link.connection()
            before = await rows_read(connection)
            await fired(store)
            after = await rows_read(connection)
            await other.close()
            return after - before

    assert live(read()) < 1000


HISTORY = """
    insert into runs
    select
        schedule_id, number + each + 10, kind, slot - each, ready_at, planned_at, scope, gate,
        version, request, 'succeeded', reason, priority, queue, caught_up, attempt, failures,
        losses, worker, started_at, lease_until, 5, cancel, error, result
    from runs, generate_series(1, 20000) as each
    where number = 0
"""


@pytest.mark.fault("F23")
def test_a_claim_passes_thousands_of_dead_rows_that_a_stranger_keeps(url: str, live: Any):
    """Compared with the same beside none: ten times as dear would be too dear."""

    async def cost(dead: int) -> float:
        async with stores(f"{url}{dead}", 1) as (store,):
            await add(store, 1000)
            await store.plan_due(store.now(), 1000, rules.plan)
            address = address_of(f"{url}{dead}")
            median, _ = await claims_beside_dead_rows(store, address, 1000, dead)
            return median

    assert live(cost(24_000)) < 10 * live(cost(0))


def test_a_specification_reads_back_as_it_was(url: str, live: Any):
    async def read() -> tuple[Specification, Any]:
        async with stores(url) as (one, other):
            await add(one, payload={"text": "ä\U0001f600", "number": 2**62})
            await other.plan_due(other.now(), 10, rules.plan)
            now = other.now()
            found = await other.claim_runs("w", ["default"], 1, now, now)
            return found.claims[0].specification, found.claims[0].key

    specification, key = live(read())
    assert (key, dict(specification.payload)) == (
        "k0",
        {"text": "ä\U0001f600", "number": 2**62},
    )
