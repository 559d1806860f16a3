"""PostgreSQL goes away, comes back, is slow, is full, or loses what it said: nodes wait, go on, and
lose and double nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg
import pytest

from harness.crash.kills import wait_for
from harness.crash.many_nodes import ManyNodes, wait_for_more
from harness.crash.proxy import Proxy
from harness.store.server import NOBODY, Server, free_port
from quarterjack.times.instants import SECOND

pytestmark = pytest.mark.unmeasured


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ManyNodes]:
    service = ManyNodes(tmp_path)
    yield service
    service.end()


@pytest.fixture
def proxy(service: ManyNodes) -> Iterator[Proxy]:
    """Between the nodes of the house and the server."""
    proxy = Proxy(service.server.port)
    service.reach(proxy.port)
    yield proxy
    service.end()
    proxy.close()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[ManyNodes]:
    """On a server of its own, that may be stopped, and has no connection to spare."""
    server = Server(max_connections="20", superuser_reserved_connections="0")
    service = ManyNodes(tmp_path, on=server)
    yield service
    service.end()
    server.close()


def all_alive(service: ManyNodes) -> bool:
    return len(service.alive()) == len(service.processes)


@pytest.mark.fault("F18", "F19")
def test_commits_that_were_sent_and_never_answered_are_done_once(service: ManyNodes, proxy: Proxy):
    for _ in range(3):
        service.up()
    for number in range(1, 7):
        proxy.cuts_commits = 4
        wait_for(lambda: proxy.cuts_commits == 0, 20, f"{4 * number} are cut off")
        wait_for_more(service, 1)

    judged = service.finish()

    assert proxy.was_cut >= 20
    assert judged["steady: succeeded"] >= 5
    assert all(process.returncode == 0 for process in service.processes)


@pytest.mark.fault("F16")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_a_server_that_is_restarted_under_load_costs_no_attempt(
    own: ManyNodes, how: signal.Signals
):
    """Its commands run on: the outage is shorter than a lease."""
    long = {"after": "1s", "command": own.work(6)}
    steady = {"every": "1s", "command": own.work(0), "catch_up": "run_all", "if_running": "queue"}
    own.declare({"long": long, "steady": steady}, lease="10s")
    for _ in range(3):
        own.up()
    wait_for(lambda: [line for line in own.lines() if line.key == "long"], 20, "it starts")
    for _ in range(2):
        own.server.stop(how)
        own.server.start()
        wait_for_more(own, 2)
    wait_for(lambda: own.succeeded("long") == 1, 20, "the long one ends")

    assert all_alive(own)
    assert [line.attempt for line in own.lines() if line.key == "long"] == [1, 1]
    starts = [line.run for line in own.lines() if line.key == "steady" and line.what == "start"]
    assert len(starts) == len(set(starts))


@pytest.mark.fault("F20", "F65")
def test_a_network_that_stutters_swallows_and_throws_out_leaves_nothing_stuck(
    service: ManyNodes, proxy: Proxy
):
    """One node reaches the server directly, two through a network that breaks in every way."""
    for _ in range(2):
        service.up()
    service.reach(service.server.port)
    service.up()
    for harm in ("delay", "swallow", "refuse", "throw out", "swallow"):
        if harm == "delay":
            proxy.delay_seconds = 0.3
        proxy.is_swallowing = harm == "swallow"
        if harm == "refuse":
            proxy.refuse()
        if harm == "throw out":
            proxy.throw_out()
        wait_for_more(service, 3)
        proxy.heal()
        wait_for_more(service, 1)

    judged = service.finish()

    assert judged["steady: succeeded"] >= 15


@pytest.mark.fault("F20")
def test_a_slow_database_loses_no_lease(service: ManyNodes, proxy: Proxy):
    """Every statement takes 2 s more than it should. What is left of the lease is asked of the
    database by another way, for he who would take the run is as slow."""
    once = {"after": "2s", "command": service.work(20)}
    service.declare({"long": once}, lease="10s")
    service.up()
    service.up()
    wait_for(service.lines, 20, "it starts")
    proxy.delay_seconds = 1  # there, and back
    left: list[int] = []

    def has_ended() -> bool:
        caller = "select lease_until - (extract(epoch from clock_timestamp()) * 1e6)::bigint"
        left.extend(
            each for (each,) in service.query(f"{caller} from runs where state = 'running'")
        )
        return len(service.lines()) == 2

    wait_for(has_ended, 40, "it ends")
    proxy.heal()
    wait_for(lambda: service.succeeded("long") == 1, 30, "and is settled")

    assert [(line.what, line.attempt) for line in service.lines()] == [("start", 1), ("end", 1)]
    assert min(left) > 0


@pytest.mark.mission("H1")
@pytest.mark.fault("F24")
def test_without_any_hint_the_look_of_every_five_seconds_suffices(service: ManyNodes, proxy: Proxy):
    """What is told goes to a channel to which nobody listens."""
    steady = {"every": "1s", "command": service.work(0), "if_running": "allow"}
    service.declare({"steady": steady | {"catch_up": "run_all"}})
    told = f"notify quarterjack_{service.schema}".encode()
    proxy.rewrites[told] = told[:-1] + (b"0" if told[-1:] != b"0" else b"1")
    service.up("scheduler")
    service.up("worker")
    wait_for(lambda: service.succeeded() >= 8, 40, "it works")

    judged = service.finish()
    starts = [line for line in service.lines() if line.what == "start" and line.key == "steady"]

    assert judged["steady: succeeded"] >= 8
    assert max(line.wall - line.slot for line in starts) < 8 * SECOND


@pytest.mark.fault("F21")
def test_a_server_without_a_free_connection_is_waited_for(own: ManyNodes):
    own.up()
    own.up()
    wait_for_more(own, 2)

    async def crowd() -> None:
        """Strangers take every connection that is left, and those that nodes give up."""
        taken: list[asyncpg.Connection] = []

        async def take_all() -> None:
            while True:
                try:
                    taken.append(await asyncpg.connect(own.server.url.replace("app@", "crowd@")))
                except asyncpg.TooManyConnectionsError:
                    return

        await take_all()
        own.start()  # it finds no room
        await asyncio.sleep(0)
        wait_for(lambda: "it has no room for more" in own.log(), 20, "it says why it waits")
        assert all_alive(own)
        for connection in taken:
            await connection.close()

    own.query("create role crowd login")
    asyncio.run(crowd())
    wait_for(lambda: len(own.listed()) == 3, 30, "the third has joined")
    judged = own.finish()

    assert judged["steady: succeeded"] >= 3


@pytest.mark.fault("F23")
def test_a_stranger_who_leaves_a_transaction_open_delays_nobody(service: ManyNodes):
    """No dead row can be cleared away meanwhile. What it costs is compared with what it was before,
    for a machine may be slow."""

    async def idle() -> Any:
        connection = await asyncpg.connect(service.server.url)
        await connection.execute("begin isolation level repeatable read")
        await connection.fetchval("select txid_current()")
        return connection

    for _ in range(3):
        service.up()
    wait_for_more(service, 8)
    loop = asyncio.new_event_loop()
    stranger = loop.run_until_complete(idle())
    came_at = time.time_ns() // 1000
    try:
        wait_for_more(service, 8)
        judged = service.finish()
    finally:
        loop.run_until_complete(stranger.close())
        loop.close()

    assert judged["steady: succeeded"] >= 16
    starts = [line for line in service.lines() if line.what == "start" and line.key == "steady"]
    before = median(line.wall - line.slot for line in starts if line.slot < came_at)
    after = median(line.wall - line.slot for line in starts if line.slot >= came_at)
    assert after < 3 * before + SECOND


@pytest.mark.fault("F17")
def test_a_failover_that_loses_the_last_transactions_plans_them_again(own: ManyNodes):
    """What was acknowledged after the copy is gone, as with asynchronous replication; the nodes
    have seen it, and live on."""
    for _ in range(3):
        own.up()
    wait_for_more(own, 3)
    data, copy = own.server.folder / "data", own.server.folder / "copy"
    steady = "from runs join schedules on id = schedule_id where key = 'steady'"
    kept = {slot for (slot,) in own.query(f"select slot {steady} and finished_at is not null")}
    own.server.stop(signal.SIGINT)
    shutil.copytree(data, copy)
    if os.getuid() == 0:
        for path in (copy, *copy.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    own.server.start()
    wait_for_more(own, 3)
    own.server.stop(signal.SIGQUIT)
    lost_at = time.time_ns() // 1000
    shutil.rmtree(data)
    copy.rename(data)
    own.server.start()
    wait_for_more(own, 3)
    wait_for(own.has_caught_up, 60, "everything is caught up")

    assert all_alive(own)
    slots = sorted(slot for (slot,) in own.query(f"select slot {steady}"))
    ((created, cursor),) = own.query(
        "select created_at, cursor from schedules where key = 'steady'"
    )
    assert slots == list(range(created + SECOND, cursor + 1, SECOND)), "none is left out"
    starts = [line for line in own.lines() if line.what == "start" and line.key == "steady"]
    safe = [line.slot for line in starts if line.slot in kept or line.slot >= lost_at]
    assert len(kept) >= 3
    assert len(safe) == len(set(safe)), "only what was not settled in the copy may run twice"


@pytest.mark.fault("F24")
def test_behind_pgbouncer_in_transaction_mode_it_works_without_hints(service: ManyNodes):
    if (program := shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")) is None:
        pytest.skip("PGBOUNCER IS NOT INSTALLED: what happens behind it is NOT TESTED")
    port = free_port()
    pooling = service.server.folder / f"pooling-{port}"
    pooling.mkdir()
    (pooling / "users.txt").write_text('"app" ""\n')
    (pooling / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={service.server.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        "auth_type = trust\npool_mode = transaction\ndefault_pool_size = 3\n"
        f"auth_file = {pooling / 'users.txt'}\nmax_client_conn = 100\n"
        "ignore_startup_parameters = extra_float_digits\n"
    )
    who: dict[str, Any] = {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}
    pooler = subprocess.Popen(
        [program, "-q", str(pooling / "pgbouncer.ini")], stderr=subprocess.DEVNULL, **who
    )
    try:
        service.reach(port)
        for _ in range(3):
            service.up()
        wait_for(lambda: service.succeeded() >= 6, 40, "it works")
        listening = "select count(*) from pg_stat_activity where query like 'LISTEN%'"
        listeners = service.query(listening)
        judged = service.finish()
    finally:
        service.end()
        pooler.terminate()
        pooler.wait(10)

    assert judged["steady: succeeded"] >= 6
    assert listeners == [(0,)]
