"""A planner that starts ends an outage if no other planner is alive."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.store.stores import STORES, StoreClient, new, open_client, query
from quarterjack import rules
from quarterjack.clock import host_and_pid, process_identity
from quarterjack.engine.planner import plan_with_limits
from quarterjack.rules import Facts, Limits, Outage, Plans
from quarterjack.store.transactions.nodes import NODE_TIMEOUT
from quarterjack.store.types import Caller, NodeInfo
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, SECOND

DECLARED = Caller("default", "declaration", "declare")
ELSEWHERE = {"host": "another-host", "process": "another boot, another container, 4711"}


@pytest.fixture(params=STORES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreClient]:
    with open_client(request.param, tmp_path) as caller:
        yield caller


def start(client: StoreClient, name: str, **words: Any) -> int:
    """Register a node, a moment after the previous one; returns when. By default its process is the
    current one."""
    host, pid = host_and_pid()
    client.clock.instant += MILLISECOND
    now = client.store.now()
    node = NodeInfo(name, host, pid, True, True, "1.0", "2026a", "default", "", now, now)
    node = node._replace(process=process_identity(pid))
    client(client.store.register(node._replace(**words)))
    return now


def stored_outage(client: StoreClient) -> Outage | None:
    ((text,),) = query(client, "select outage from planner_state")
    return Outage(*json.loads(text)) if text else None


def pid_that_has_ended() -> int:
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.mission("E6")
class TestFirstPlanner:
    def test_the_first_planner_ever_ends_an_outage(self, client: StoreClient):
        at = start(client, "planner")

        assert stored_outage(client) == Outage(0, at)

    def test_not_while_another_one_runs_on_this_host(self, client: StoreClient):
        """Even with an old heartbeat: on SQLite an idle node writes nothing."""
        first = start(client, "planner")
        query(client, f"update nodes set seen_at = seen_at - {HOUR}")

        start(client, "second planner")

        assert stored_outage(client) == Outage(0, first)

    def test_after_the_process_of_the_other_has_ended(self, client: StoreClient):
        first = start(client, "planner", pid=pid_that_has_ended())

        again = start(client, "second planner")

        assert stored_outage(client) == Outage(first, again), (
            "it began with the last step of the first"
        )

    def test_after_the_other_has_become_a_zombie(self, client: StoreClient):
        """As in a container whose first process does not wait for its children."""
        if (zombie := os.fork()) == 0:
            os._exit(0)
        os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
        first = start(client, "planner", pid=zombie, process=process_identity(zombie))

        again = start(client, "second planner")

        os.waitpid(zombie, 0)
        assert stored_outage(client) == Outage(first, again)

    def test_though_another_process_has_the_pid_of_the_other(self, client: StoreClient):
        _, pid = host_and_pid()
        first = start(client, "planner", process=f"{process_identity(pid)}0")

        again = start(client, "second planner")

        assert stored_outage(client) == Outage(first, again)

    def test_not_after_the_clock_was_set_forward(self, client: StoreClient):
        """Then the registration of the other planner looks older than its process."""
        first = start(client, "planner", started_at=client.store.now() - DAY)

        start(client, "second planner")

        assert stored_outage(client) == Outage(0, first)

    def test_after_the_other_has_unregistered(self, client: StoreClient):
        first = start(client, "planner")
        client(client.store.unregister("planner"))

        again = start(client, "second planner")

        assert stored_outage(client) == Outage(first, again)

    def test_though_a_worker_is_alive(self, client: StoreClient):
        start(client, "worker", plans=False)
        assert stored_outage(client) is None, "a worker does not plan"

        at = start(client, "planner")

        assert stored_outage(client) == Outage(0, at)


@pytest.mark.mission("E6", "H6")
@pytest.mark.parametrize(("silent_for", "is_alive"), [(19 * SECOND, True), (NODE_TIMEOUT, False)])
def test_a_planner_on_another_host_is_alive_for_20_seconds_after_its_last_heartbeat(
    tmp_path: Path, silent_for: int, is_alive: bool
):
    with open_client("PostgreSQL", tmp_path) as client:
        first = start(client, "planner", **ELSEWHERE, seen_at=client.store.now() - silent_for)
        start(client, "second planner")

        outage = stored_outage(client)

        assert outage is not None
        assert (outage.until < first) == is_alive, "no second outage"


@pytest.mark.mission("E6", "H6")
@pytest.mark.fault("F66")
def test_a_planner_on_another_host_with_the_same_name_is_known_by_its_heartbeat(tmp_path: Path):
    """As on a cloned machine, whatever process has its pid here."""
    process = ELSEWHERE["process"]
    with open_client("PostgreSQL", tmp_path) as client:
        first = start(client, "planner", process=process, pid=pid_that_has_ended())
        start(client, "second planner")
        assert stored_outage(client) == Outage(0, first)

        query(client, f"update nodes set seen_at = seen_at - {NODE_TIMEOUT}, process = '{process}'")
        start(client, "third planner")

        assert stored_outage(client) != Outage(0, first)


@pytest.mark.mission("E6")
def test_on_sqlite_a_planner_with_another_host_name_is_dead(tmp_path: Path):
    """All users of the file are on this host; it was left by a container of another name."""
    with open_client("SQLite", tmp_path) as client:
        first = start(client, "planner", **ELSEWHERE)

        again = start(client, "second planner")

        assert stored_outage(client) == Outage(first, again)


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize("operation", [rules.delete, partial(rules.pause, by="ada")])
def test_schedules_removed_or_paused_at_the_start_use_no_budget(
    client: StoreClient, operation: Callable[..., Any]
):
    """As by a declaration: only the others are caught up."""
    start(client, "planner", seen_at=client.now)
    agents = [new(f"agent {n}", client.now, every="1h", preset="agent") for n in range(8)]
    client.add_all(agents)
    client(client.store.unregister("planner"))
    client.go("09:00:10")
    start(client, "second planner", seen_at=client.now)

    for identity in range(1, 6):
        client(client.store.change_schedule(identity, operation, client.now, DECLARED))
    client(client.store.plan_due(client.now, 100, plan_with_limits(Limits()), Limits()))

    runs = query(client, "select schedule_id, state, ready_at from runs order by schedule_id")
    assert [state for _, state, _ in runs] == ["skipped"] * 5 + ["queued"] * 3
    assert [ready_at - runs[5][2] for *_, ready_at in runs[5:]] == [0, 5 * SECOND, 10 * SECOND]


def edit(facts: Facts, now: int) -> Plans:
    return rules.edit(facts, new("", now, every="2h").specification, now)


@pytest.mark.mission("E6")
@pytest.mark.parametrize("is_planned", [True, False])
@pytest.mark.parametrize("operation", [rules.run_now, edit])
def test_an_operation_while_no_planner_is_alive_records_due_slots_as_missed(
    client: StoreClient, operation: Callable[[Facts, int], Plans], is_planned: bool
):
    """However short the outage was."""
    start(client, "planner", seen_at=client.now)
    identity = client.add(every="1h", catch_up="skip", if_running="allow")
    client.go("08:59:58")
    client.plan()
    if not is_planned:
        client(client.store.unregister("planner"))
    client.go("09:00:01")

    client.change(identity, operation)

    ran = query(client, "select count(*) from runs where kind = 'slot'")
    rows = query(client, "select not_run from schedules union all select reason from slots_not_run")
    is_missed = any("outage" in text for (text,) in rows if text)
    assert (ran == [(1,)], is_missed) == (is_planned, not is_planned)
