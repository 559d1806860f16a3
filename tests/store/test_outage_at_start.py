"""Which starts end an outage: those of a planner that finds no other planner alive."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from harness.store.stores import STORES, Asking, asking, new, query
from quarterjack import rules
from quarterjack.clock import host_and_pid, process_identity
from quarterjack.engine.planner import planning_within
from quarterjack.rules import Facts, Limits, Outage, Plans
from quarterjack.store.transactions.nodes import LIVES_FOR
from quarterjack.store.types import Caller, NodeInfo
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, SECOND

DECLARED = Caller("default", "declaration", "declare", limits=Limits())
ELSEWHERE = {"host": "another-host", "process": "another boot, another container, 4711"}


@pytest.fixture(params=STORES)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    with asking(request.param, tmp_path) as caller:
        yield caller


def start(ask: Asking, name: str, **words: Any) -> int:
    """A node registers, a moment later than the one before; when it did. Its process is that of
    these tests, unless others are said."""
    host, pid = host_and_pid()
    ask.clock.instant += MILLISECOND
    now = ask.store.now()
    node = NodeInfo(name, host, pid, True, True, "1.0", "2026a", "default", "", now, now)
    node = node._replace(process=process_identity(pid))
    ask(ask.store.register(node._replace(**words)))
    return now


def noted(ask: Asking) -> Outage | None:
    ((text,),) = query(ask, "select outage from planner_state")
    return Outage(*json.loads(text)) if text else None


def pid_that_has_ended() -> int:
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


@pytest.mark.mission("E6")
class TestAPlannerThatStarts:
    def test_ends_an_outage_if_it_is_the_first_ever(self, ask: Asking):
        at = start(ask, "planner")

        assert noted(ask) == Outage(0, at)

    def test_ends_none_while_another_one_runs_on_this_host(self, ask: Asking):
        """Though that one was not heard of for long, for it writes nothing while nothing is due."""
        first = start(ask, "planner")
        query(ask, f"update nodes set seen_at = seen_at - {HOUR}")

        start(ask, "second planner")

        assert noted(ask) == Outage(0, first)

    def test_ends_one_after_the_process_of_the_other_has_ended(self, ask: Asking):
        first = start(ask, "planner", pid=pid_that_has_ended())

        again = start(ask, "second planner")

        assert noted(ask) == Outage(first, again), "it began at the last look of the first"

    def test_ends_one_though_the_parent_of_the_other_has_not_noticed_that_it_ended(
        self, ask: Asking
    ):
        """As in a container whose first process waits for no other."""
        if (zombie := os.fork()) == 0:
            os._exit(0)
        os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
        first = start(ask, "planner", pid=zombie, process=process_identity(zombie))

        again = start(ask, "second planner")

        os.waitpid(zombie, 0)
        assert noted(ask) == Outage(first, again)

    def test_ends_one_though_another_process_has_the_number_of_the_other(self, ask: Asking):
        _, pid = host_and_pid()
        first = start(ask, "planner", process=f"{process_identity(pid)}0")

        again = start(ask, "second planner")

        assert noted(ask) == Outage(first, again)

    def test_ends_none_though_the_clock_was_set_forward_since_the_other_registered(
        self, ask: Asking
    ):
        """By more than the other has run: its registration looks older than its process."""
        first = start(ask, "planner", started_at=ask.store.now() - DAY)

        start(ask, "second planner")

        assert noted(ask) == Outage(0, first)

    def test_ends_one_after_the_other_has_left(self, ask: Asking):
        first = start(ask, "planner")
        ask(ask.store.unregister("planner"))

        again = start(ask, "second planner")

        assert noted(ask) == Outage(first, again)

    def test_ends_one_though_a_worker_is_alive(self, ask: Asking):
        start(ask, "worker", plans=False)
        assert noted(ask) is None, "a worker ends none, for it plans nothing"

        at = start(ask, "planner")

        assert noted(ask) == Outage(0, at)


@pytest.mark.mission("E6", "H6")
@pytest.mark.parametrize(("silent_for", "is_alive"), [(19 * SECOND, True), (LIVES_FOR, False)])
def test_a_planner_on_another_host_is_alive_for_20_seconds_after_its_last_heartbeat(
    tmp_path: Path, silent_for: int, is_alive: bool
):
    with asking("PostgreSQL", tmp_path) as ask:
        first = start(ask, "planner", **ELSEWHERE, seen_at=ask.store.now() - silent_for)
        start(ask, "second planner")

        outage = noted(ask)

        assert outage is not None
        assert (outage.until < first) == is_alive, "is the outage still the one before the first?"


@pytest.mark.mission("E6", "H6")
@pytest.mark.fault("F66")
def test_a_planner_on_a_machine_of_the_same_name_is_not_looked_for_here(tmp_path: Path):
    """As on a clone: only its heartbeat counts, whoever has its number on this machine."""
    process = ELSEWHERE["process"]
    with asking("PostgreSQL", tmp_path) as ask:
        first = start(ask, "planner", process=process, pid=pid_that_has_ended())
        start(ask, "second planner")
        assert noted(ask) == Outage(0, first)

        query(ask, f"update nodes set seen_at = seen_at - {LIVES_FOR}, process = '{process}'")
        start(ask, "third planner")

        assert noted(ask) != Outage(0, first)


@pytest.mark.mission("E6")
def test_the_processes_of_a_sqlite_file_are_all_on_this_host(tmp_path: Path):
    """One that a container of another name has left behind is dead."""
    with asking("SQLite", tmp_path) as ask:
        first = start(ask, "planner", **ELSEWHERE)

        again = start(ask, "second planner")

        assert noted(ask) == Outage(first, again)


@pytest.mark.mission("E6", "E8")
@pytest.mark.parametrize("operation", [rules.delete, partial(rules.pause, by="ada")])
def test_what_is_dropped_or_paused_at_the_start_takes_nothing_from_the_budget(
    ask: Asking, operation: Callable[..., Any]
):
    """As a declaration does: only what is left is caught up."""
    start(ask, "planner", seen_at=ask.now)
    agents = [new(f"agent {n}", ask.now, every="1h", preset="agent") for n in range(8)]
    ask.add_all(agents)
    ask(ask.store.unregister("planner"))
    ask.go("09:00:10")
    start(ask, "second planner", seen_at=ask.now)

    for identity in range(1, 6):
        ask(ask.store.change_schedule(identity, operation, ask.now, DECLARED))
    ask(ask.store.plan_due(ask.now, 100, planning_within(Limits()), Limits()))

    runs = query(ask, "select schedule_id, state, ready_at from runs order by schedule_id")
    assert [state for _, state, _ in runs] == ["skipped"] * 5 + ["queued"] * 3
    assert [ready_at - runs[5][2] for *_, ready_at in runs[5:]] == [0, 5 * SECOND, 10 * SECOND]


def edit(facts: Facts, now: int) -> Plans:
    return rules.edit(facts, new("", now, every="2h").specification, now)


@pytest.mark.mission("E6")
@pytest.mark.parametrize("is_planned", [True, False])
@pytest.mark.parametrize("operation", [rules.run_now, edit])
def test_an_operation_while_no_planner_is_alive_finds_missed_what_is_due(
    ask: Asking, operation: Callable[[Facts, int], Plans], is_planned: bool
):
    """However short that was: it matters who was there, not how late it is."""
    start(ask, "planner", seen_at=ask.now)
    identity = ask.add(every="1h", catch_up="skip", if_running="allow")
    ask.go("08:59:58")
    ask.plan()
    if not is_planned:
        ask(ask.store.unregister("planner"))
    ask.go("09:00:01")

    ask.change(identity, operation)

    ran = query(ask, "select count(*) from runs where kind = 'slot'")
    told = query(ask, "select not_run from schedules union all select reason from slots_not_run")
    is_missed = any("outage" in text for (text,) in told if text)
    assert (ran == [(1,)], is_missed) == (is_planned, not is_planned)
