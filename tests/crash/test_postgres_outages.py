"""PostgreSQL is restarted, slow, full, or loses transactions: nodes wait and continue, and no slot
is lost or doubled."""

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
    """Between the nodes and the server."""
    proxy = Proxy(service.server.port)
    service.reach(proxy.port)
    yield proxy
    service.end()
    proxy.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ManyNodes]:
    """On a server of its own_server, with 20 connections."""
    server = Server(max_connections="20", superuser_reserved_connections="0")
    service = ManyNodes(tmp_path, on=server)
    yield service
    service.end()
    server.close()


def all_alive(service: ManyNodes) -> bool:
    return len(service.alive()) == len(service.processes)


@pytest.mark.fault("F18", "F19")
def test_commits_without_an_answer_take_effect_once(service: ManyNodes, proxy: Proxy):
    for _ in range(3):
        service.up()
    for number in range(1, 7):
        proxy.commits_to_cut = 4
        wait_for(lambda: proxy.commits_to_cut == 0, 20, f"{4 * number} are cut")
        wait_for_more(service, 1)

    counts = service.finish()

    assert proxy.commits_cut >= 20
    assert counts["steady: succeeded"] >= 5
    assert all(process.returncode == 0 for process in service.processes)


@pytest.mark.fault("F16")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_no_attempt_is_lost_when_the_server_restarts_under_load(
    own_server: ManyNodes, how: signal.Signals
):
    """The outage is shorter than a lease."""
    long = {"after": "1s", "command": own_server.work(6)}
    steady = {
        "every": "1s",
        "command": own_server.work(0),
        "catch_up": "run_all",
        "if_running": "queue",
    }
    own_server.declare({"long": long, "steady": steady}, lease="10s")
    for _ in range(3):
        own_server.up()
    wait_for(
        lambda: [line for line in own_server.lines() if line.key == "long"], 20, "it has started"
    )
    for _ in range(2):
        own_server.server.stop(how)
        own_server.server.start()
        wait_for_more(own_server, 2)
    wait_for(lambda: own_server.succeeded("long") == 1, 20, "the long run has succeeded")

    assert all_alive(own_server)
    assert [line.attempt for line in own_server.lines() if line.key == "long"] == [1, 1]
    starts = [
        line.run for line in own_server.lines() if line.key == "steady" and line.what == "start"
    ]
    assert len(starts) == len(set(starts))


@pytest.mark.fault("F20", "F65")
def test_nothing_is_stuck_after_a_network_that_delays_discards_and_closes(
    service: ManyNodes, proxy: Proxy
):
    """One node reaches the server directly, two through a network with every fault."""
    for _ in range(2):
        service.up()
    service.reach(service.server.port)
    service.up()
    for fault in ("delay", "discard", "refuse", "close", "discard"):
        if fault == "delay":
            proxy.delay_seconds = 0.3
        proxy.is_discarding = fault == "discard"
        if fault == "refuse":
            proxy.refuse()
        if fault == "close":
            proxy.close_connections()
        wait_for_more(service, 3)
        proxy.heal()
        wait_for_more(service, 1)

    counts = service.finish()

    assert counts["steady: succeeded"] >= 15


@pytest.mark.fault("F20")
def test_no_lease_is_lost_on_a_slow_database(service: ManyNodes, proxy: Proxy):
    """Every statement takes 2 s longer. What is left of the lease is read past the proxy, because
    another node, which would take the run, is as slow as this one."""
    once = {"after": "2s", "command": service.work(20)}
    service.declare({"long": once}, lease="10s")
    service.up()
    service.up()
    wait_for(service.lines, 20, "it has started")
    proxy.delay_seconds = 1  # in each direction
    left: list[int] = []

    def has_ended() -> bool:
        query = "select lease_until - (extract(epoch from clock_timestamp()) * 1e6)::bigint"
        left.extend(each for (each,) in service.query(f"{query} from runs where state = 'running'"))
        return len(service.lines()) == 2

    wait_for(has_ended, 40, "it has ended")
    proxy.heal()
    wait_for(lambda: service.succeeded("long") == 1, 30, "it is settled")

    assert [(line.what, line.attempt) for line in service.lines()] == [("start", 1), ("end", 1)]
    assert min(left) > 0


@pytest.mark.mission("H1")
@pytest.mark.fault("F24")
def test_polling_every_five_seconds_suffices_without_notifications(
    service: ManyNodes, proxy: Proxy
):
    """They are sent to a channel that no node listens on."""
    steady = {"every": "1s", "command": service.work(0), "if_running": "allow"}
    service.declare({"steady": steady | {"catch_up": "run_all"}})
    notify = f"notify quarterjack_{service.schema}".encode()
    proxy.rewrites[notify] = notify[:-1] + (b"0" if notify[-1:] != b"0" else b"1")
    service.up("scheduler")
    service.up("worker")
    wait_for(lambda: service.succeeded() >= 8, 40, "they work")

    counts = service.finish()
    starts = [line for line in service.lines() if line.what == "start" and line.key == "steady"]

    assert counts["steady: succeeded"] >= 8
    assert max(line.wall - line.slot for line in starts) < 8 * SECOND


@pytest.mark.fault("F21")
def test_a_start_waits_for_a_server_without_a_free_connection(own_server: ManyNodes):
    own_server.up()
    own_server.up()
    wait_for_more(own_server, 2)

    async def exhaust() -> None:
        """Another role takes every free connection, and those that nodes close."""
        taken: list[asyncpg.Connection] = []

        async def take_all() -> None:
            while True:
                try:
                    taken.append(
                        await asyncpg.connect(own_server.server.url.replace("app@", "other@"))
                    )
                except asyncpg.TooManyConnectionsError:
                    return

        await take_all()
        own_server.start()  # no connection is free for it
        await asyncio.sleep(0)
        wait_for(
            lambda: "the server is out of resources" in own_server.log(), 20, "it logs why it waits"
        )
        assert all_alive(own_server)
        for connection in taken:
            await connection.close()

    own_server.query("create role other login")
    asyncio.run(exhaust())
    wait_for(lambda: len(own_server.list_nodes()) == 3, 30, "the third has joined")
    counts = own_server.finish()

    assert counts["steady: succeeded"] >= 3


@pytest.mark.fault("F23")
def test_a_transaction_left_open_by_another_program_delays_no_run(service: ManyNodes):
    """Dead rows cannot be removed meanwhile. The delay is compared with the one before, because the
    machine may be slow."""

    async def idle() -> Any:
        connection = await asyncpg.connect(service.server.url)
        await connection.execute("begin isolation level repeatable read")
        await connection.fetchval("select txid_current()")
        return connection

    for _ in range(3):
        service.up()
    wait_for_more(service, 8)
    loop = asyncio.new_event_loop()
    other = loop.run_until_complete(idle())
    opened_at = time.time_ns() // 1000
    try:
        wait_for_more(service, 8)
        counts = service.finish()
    finally:
        loop.run_until_complete(other.close())
        loop.close()

    assert counts["steady: succeeded"] >= 16
    starts = [line for line in service.lines() if line.what == "start" and line.key == "steady"]
    before = median(line.wall - line.slot for line in starts if line.slot < opened_at)
    after = median(line.wall - line.slot for line in starts if line.slot >= opened_at)
    assert after < 3 * before + SECOND


@pytest.mark.fault("F17")
def test_after_a_failover_the_lost_transactions_are_planned_again(own_server: ManyNodes):
    """What was committed after the copy is lost, as with asynchronous replication, though the nodes
    have seen it."""
    for _ in range(3):
        own_server.up()
    wait_for_more(own_server, 3)
    data, copy = own_server.server.folder / "data", own_server.server.folder / "copy"
    steady = "from runs join schedules on id = schedule_id where key = 'steady'"
    kept = {
        slot for (slot,) in own_server.query(f"select slot {steady} and finished_at is not null")
    }
    own_server.server.stop(signal.SIGINT)
    shutil.copytree(data, copy)
    if os.getuid() == 0:
        for path in (copy, *copy.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
    own_server.server.start()
    wait_for_more(own_server, 3)
    own_server.server.stop(signal.SIGQUIT)
    lost_at = time.time_ns() // 1000
    shutil.rmtree(data)
    copy.rename(data)
    own_server.server.start()
    wait_for_more(own_server, 3)
    wait_for(own_server.has_caught_up, 60, "they catch up")

    assert all_alive(own_server)
    slots = sorted(slot for (slot,) in own_server.query(f"select slot {steady}"))
    ((created, cursor),) = own_server.query(
        "select created_at, cursor from schedules where key = 'steady'"
    )
    assert slots == list(range(created + SECOND, cursor + 1, SECOND)), "no slot is missing"
    starts = [line for line in own_server.lines() if line.what == "start" and line.key == "steady"]
    safe = [line.slot for line in starts if line.slot in kept or line.slot >= lost_at]
    assert len(kept) >= 3
    assert len(safe) == len(set(safe)), "only what was not settled in the copy may run twice"


@pytest.mark.fault("F24")
def test_behind_pgbouncer_in_transaction_mode_nodes_work_without_notifications(service: ManyNodes):
    if (program := shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")) is None:
        pytest.skip("pgbouncer is not installed, so Quarterjack behind it is NOT TESTED")
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
    account: dict[str, Any] = {"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {}
    pooler = subprocess.Popen(
        [program, "-q", str(pooling / "pgbouncer.ini")], stderr=subprocess.DEVNULL, **account
    )
    try:
        service.reach(port)
        for _ in range(3):
            service.up()
        wait_for(lambda: service.succeeded() >= 6, 40, "they work")
        listening = "select count(*) from pg_stat_activity where query like 'LISTEN%'"
        listeners = service.query(listening)
        counts = service.finish()
    finally:
        service.end()
        pooler.terminate()
        pooler.wait(10)

    assert counts["steady: succeeded"] >= 6
    assert listeners == [(0,)]
