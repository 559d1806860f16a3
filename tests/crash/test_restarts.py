"""What a service catches up and keeps after it was killed and started again, with the default
limits of `up`."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService, wait_for
from quarterjack.cli.runtime import Runtime
from quarterjack.times.instants import HOUR, MILLISECOND, SECOND, to_text

pytestmark = pytest.mark.unmeasured

FIRST_DUE_AFTER = 1200 * MILLISECOND
"""The service is killed between adding the schedules and this."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    service.declare({})
    yield service
    service.end()


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait(10)


def come_due_during_an_outage(
    service: RealService, schedules: Callable[[int], list[dict[str, Any]]], lasting: int
) -> int:
    """Adds schedules to a service that is killed before the first of them comes due, and waits for
    so long after that. Returns when the first came due."""
    process = service.up()
    first = Runtime().now() + FIRST_DUE_AFTER
    add(service, schedules(first))
    kill(process)
    assert service.query("select count(*) from runs") == [(0,)], "it was killed before that"
    wait_for(lambda: Runtime().now() > first + lasting, 20, "all of them are overdue")
    return first


def add(service: RealService, schedules: list[dict[str, Any]]) -> None:
    lines = "\n".join(json.dumps(each) for each in schedules)
    CommandLine(service.folder).output("add", "--from", "-", stdin=lines)


def show(service: RealService, which: str) -> Any:
    return CommandLine(service.folder).json("show", which)


def runs(service: RealService, fields: str, grouped: str = "") -> list[tuple[Any, ...]]:
    tables = "runs join schedules on id = schedule_id"
    return service.query(f"select {fields} from {tables} {grouped} order by 1, 2")


def succeeded(service: RealService) -> int:
    ((count,),) = service.query("select count(*) from runs where state = 'succeeded'")
    return int(count)


def slots_not_run(service: RealService) -> list[tuple[Any, ...]]:
    return service.query(
        "select key, sum(count), reason from slots_not_run join schedules on id = schedule_id"
        " group by key, reason order by key, reason"
    )


@pytest.mark.mission("E6", "E8")
def test_of_eight_agent_schedules_missed_in_an_outage_five_run_5_seconds_apart(
    service: RealService,
):
    def agents(first: int) -> list[dict[str, Any]]:
        return [
            {"key": f"agent {n}", "preset": "agent", "every": "1h", "command": service.work(0)}
            | {"start_at": to_text(first + n * 10 * MILLISECOND)}
            for n in range(8, 0, -1)
        ]

    first = come_due_during_an_outage(service, agents, 80 * MILLISECOND)
    process = service.up()
    wait_for(lambda: succeeded(service) == 2, 30, "the second has succeeded")

    planned = runs(service, "ready_at, key")
    assert [key for _, key in planned] == [f"agent {n}" for n in range(1, 6)], "oldest first"
    assert [after - before for (before, _), (after, _) in pairwise(planned)] == [5 * SECOND] * 4
    started = {line.key: line.wall for line in service.lines() if line.what == "start"}
    assert started.keys() == {"agent 1", "agent 2"}
    assert all(started[key] >= ready for ready, key in planned[:2]), "none before its ready_at"
    assert slots_not_run(service) == [(f"agent {n}", 1, "outage_limit") for n in (6, 7, 8)]
    following = dict(service.query("select key, next_slot from schedules"))
    assert following == {f"agent {n}": first + n * 10 * MILLISECOND + HOUR for n in range(1, 9)}
    shown = show(service, "agent 8")
    assert shown["slots_not_run"][0]["reason"] == "outage_limit"
    assert shown["next_run_at"] == to_text(following["agent 8"])

    kill(process)
    service.up()

    assert runs(service, "ready_at, key") == planned, "another start changes nothing"


@pytest.mark.mission("E6", "E8", "D12")
def test_of_eight_agent_one_shots_missed_in_an_outage_none_is_lost(service: RealService):
    def one_shots(first: int) -> list[dict[str, Any]]:
        return [
            {"key": f"agent {n}", "preset": "agent", "command": service.work(0)}
            | {"at": to_text(first + n * 10 * MILLISECOND)}
            for n in range(8, 0, -1)
        ]

    come_due_during_an_outage(service, one_shots, 80 * MILLISECOND)
    process = service.up()
    wait_for(lambda: succeeded(service) == 1, 20, "the first has succeeded")
    planned = runs(service, "ready_at, key")
    kill(process)
    service.up()

    assert [key for _, key in planned] == [f"agent {n}" for n in range(1, 9)], "oldest first"
    assert [after - before for (before, _), (after, _) in pairwise(planned)] == [5 * SECOND] * 7
    assert runs(service, "ready_at, key") == planned, "queued runs keep their ready_at"
    assert slots_not_run(service) == []


@pytest.mark.mission("E6", "E7", "E8")
def test_an_agent_schedule_with_ten_errors_is_paused_and_not_dispatched_at_a_start(
    service: RealService,
):
    process = service.up()
    failing = ["sh", "-c", "exit 3"]
    add(service, [{"key": "failing", "preset": "agent", "every": "100ms", "command": failing}])
    wait_for(lambda: show(service, "failing")["status"] == "paused", 30, "it is paused")
    before = show(service, "failing")
    kill(process)
    add(service, [{"key": "once", "at": to_text(Runtime().now()), "command": ["true"]}])

    service.up()
    wait_for(lambda: succeeded(service) == 1, 20, "the later schedule has succeeded")

    assert show(service, "failing") == before, "nothing was planned, and nothing ran"
    assert (before["status_reason"], before["paused_by"]) == ("consecutive_errors", "quarterjack")
    assert (before["enabled"], before["next_run_at"]) == (False, None)
    assert (before["consecutive_errors"], before["error_count"], before["planned_count"]) == (
        *(10, 10, 10),
    )


@pytest.mark.mission("D7", "E6")
@pytest.mark.fault("F1", "F2")
def test_each_catch_up_policy_decides_once_however_often_the_service_is_restarted(
    service: RealService,
):
    policies = {
        "skip": {"catch_up": "skip"},
        "run_once": {"catch_up": "run_once"},
        "run_all": {"catch_up": "run_all"},
        "bounded": {"catch_up": "run_all", "max_catch_up_runs": 2},
    }

    def four_slots(first: int) -> list[dict[str, Any]]:
        when = {
            "every": "200ms",
            "start_at": to_text(first),
            "end_at": to_text(first + 600 * MILLISECOND),
        }
        return [
            {"key": key, "command": service.work(0), **when, **policy}
            for key, policy in policies.items()
        ]

    first = come_due_during_an_outage(service, four_slots, 600 * MILLISECOND)
    for failpoint in ("plan_due.committing:1", "plan_due.committed:1"):
        assert service.start(failpoint).wait(30) == -signal.SIGKILL, service.log()[-2000:]
    for _ in range(2):
        process = service.up()
        wait_for(service.has_caught_up, 30, "it has caught up")
        kill(process)

    ran = [(key, (slot - first) // MILLISECOND) for key, slot in runs(service, "key, slot")]
    assert ran == [
        *[("bounded", 400), ("bounded", 600)],
        *[("run_all", 0), ("run_all", 200), ("run_all", 400), ("run_all", 600)],
        ("run_once", 600),
    ]
    assert slots_not_run(service) == [
        ("bounded", 2, "max_catch_up_runs"),
        ("run_once", 3, "coalesced"),
        ("skip", 4, "outage"),
    ]
    started = [line.run for line in service.lines() if line.what == "start"]
    assert len(started) == len(set(started)) == 7, "each once"


@pytest.mark.mission("D7", "E6")
def test_a_schedule_edited_during_an_outage_has_still_missed_its_slots(service: RealService):
    """An edit first plans what came due under the old definition."""

    def schedules(first: int) -> list[dict[str, Any]]:
        when = {"every": "1h", "start_at": to_text(first), "command": service.work(0)}
        agents = [{"key": f"agent {n}", "preset": "agent", **when} for n in range(1, 9)]
        return [*agents, {"key": "skip", "catch_up": "skip", **when}]

    come_due_during_an_outage(service, schedules, 0)
    for which in ("skip", *(f"agent {n}" for n in range(1, 9))):
        CommandLine(service.folder).output("edit", which, "--name", "edited")
    service.up()

    planned = runs(service, "ready_at, key")
    assert [key for _, key in planned] == [f"agent {n}" for n in range(1, 6)]
    assert [after - before for (before, _), (after, _) in pairwise(planned)] == [5 * SECOND] * 4
    assert slots_not_run(service) == [
        *((f"agent {n}", 1, "outage_limit") for n in (6, 7, 8)),
        ("skip", 1, "outage"),
    ]


@pytest.mark.mission("D7")
def test_skip_continues_with_the_first_slot_after_the_start(service: RealService):
    interval = 200 * MILLISECOND

    def endless(first: int) -> list[dict[str, Any]]:
        when = {"every": "200ms", "start_at": to_text(first)}
        return [{"key": "skip", "catch_up": "skip", "command": service.work(0), **when}]

    first = come_due_during_an_outage(service, endless, 500 * MILLISECOND)
    process = service.up()
    ((outage,),) = service.query("select outage from planner_state")
    wait_for(lambda: succeeded(service) >= 2, 30, "it continues")
    service.stop(process)

    _, ended_at, *_ = json.loads(outage)
    missed = -((first - ended_at) // interval)
    not_run = {reason: count for _, count, reason in slots_not_run(service)}
    assert not_run["outage"] == missed >= 3
    ran = [slot for slot, _ in runs(service, "slot, key")]
    assert ran[0] >= first + missed * interval
    ((decided,),) = service.query(f"select (cursor - {first}) / {interval} + 1 from schedules")
    assert len(set(ran)) + sum(not_run.values()) == decided, "each slot ran, or has its reason"


@pytest.mark.mission("P6", "P7", "P9")
def test_the_counters_of_workflows_survive_a_crash(service: RealService):
    """It happens during a third attempt: a lost attempt does not count as a failure."""
    process = service.up()
    notes = service.folder / "notes"
    note = f'echo "$QUARTERJACK_RUN_ID $QUARTERJACK_REPEAT" >> {notes}; '
    third = f'test "$(grep -c "^$QUARTERJACK_RUN_ID " {notes})" -ge 3'
    fail = ["sh", "-c", "exit 3"]
    workflows: dict[str, dict[str, Any]] = {
        "succeeds": {"command": ["true"], "total_repeats": 3},
        "succeeds at the third attempt": {
            "command": ["sh", "-c", note + third],
            "total_repeats": 2,
        },
        "fails": {"command": ["sh", "-c", "sleep 0.2; exit 3"]},
        "fails and has no retries": {"command": fail, "max_retries": 0},
    }
    common = {"preset": "pipelit", "every": "100ms"}
    add(service, [{"key": key, **common, **fields} for key, fields in workflows.items()])
    third_runs = "select 1 from runs where schedule_id = 3 and failures = 2 and state = 'running'"
    wait_for(lambda: service.query(third_runs), 20, "it has failed twice")
    kill(process)
    service.up()

    def schedules() -> list[dict[str, Any]]:
        return [show(service, key) for key in workflows]

    wait_for(lambda: "active" not in {each["status"] for each in schedules()}, 40, "all have ended")

    names = ("status", "run_count", "current_repeat", "error_count", "current_retry", "last_error")
    succeeds, third_time, fails, at_once = [[each[name] for name in names] for each in schedules()]
    failures = dict(runs(service, "key, sum(failures)", "group by key"))
    assert succeeds == ["done", 3, 3, 0, 0, ""]
    assert third_time[:3] == ["done", 2, 2]
    assert third_time[3:5] == [failures["succeeds at the third attempt"], 0], "retries are reset"
    assert fails == ["dead", 0, 0, 4, 4, "exit code 3"], "three retries are four attempts"
    assert at_once == ["dead", 0, 0, 1, 1, "exit code 3"]
    assert [each["planned_count"] for each in schedules()] == [3, 2, 1, 1]
    repeats = dict(line.split() for line in notes.read_text().splitlines())
    assert repeats == {"2-0": "0", "2-1": "1"}
    waited = zip(backoffs(service, schedule_id=3), [100, 200, 400], strict=True)
    assert all(found >= wanted for found, wanted in waited)


def backoffs(service: RealService, schedule_id: int) -> list[int]:
    """The delays between the failures of its first run and the next attempts, in milliseconds."""
    attempts = service.query(
        f"select started_at, finished_at, ending from attempts where schedule_id = {schedule_id}"
        " and number = 0 order by attempt"
    )
    last = service.query(f"select started_at from runs where schedule_id = {schedule_id}")
    starts = [started_at for started_at, *_ in (*attempts, *last)]
    return [
        (following - finished_at) // MILLISECOND
        for (_, finished_at, ending), following in zip(attempts, starts[1:], strict=True)
        if ending == "failed"
    ]
