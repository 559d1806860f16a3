"""What holds for any history: generated schedules of every policy, generated outages, outcomes and
people. The service checks most promises at each step; what it cannot see is stated here."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from harness.rules.in_memory_service import InMemoryService, made_by_slots
from harness.rules.values import at, specification
from quarterjack.errors import InvalidSpecification, Refused
from quarterjack.rules import WAITING, Ending, Kind, Limits, Outage, State, Status
from quarterjack.rules.policies.anchors import slots_of
from quarterjack.rules.policies.execution import LOSSES_MAX
from quarterjack.times import slots_between
from quarterjack.times.instants import HOUR, MINUTE, SECOND

EXAMPLES = int(os.environ.get("EXAMPLES", "150"))
LONG = settings(
    max_examples=EXAMPLES,
    derandomize=EXAMPLES == 150,  # a longer campaign looks elsewhere each time
    suppress_health_check=list(HealthCheck),
)

recurrences: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"every": "1m"},
        {"every": "7m", "start_at": "2026-11-16T08:03:00Z"},
        {"every": "5m", "anchor": "completion"},
        {"every": "10m", "end_at": "2026-11-16T09:00:00Z"},
        {"cron": "*/5 * * * *"},
        {"cron": ["*/20 * * * *", "7 8,9 * * *", "0 9 * * MON"]},
        {"at": ["2026-11-16T07:00:00Z", "2026-11-16T08:20:00Z", "2026-11-16T09:10:00Z"]},
        {"schedule": "every 10 minutes between 8am and 10am"},
        {"cron": "3,4 * * * *", "timezone": "Asia/Kathmandu"},
        {"hourly": {"minute": 30}},
        {"at": "2026-11-16T08:20:00Z"},
        {"at": "2026-11-16T07:00:00Z"},
        {"after": "17m"},
    ]
)
targets: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"task": "work"}, {"task": "work"}, {"plugin": "echo"}, {"plugin": "echo", "command": "sync"}]
)
policies: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "catch_up": st.sampled_from(["run_once", "skip", "run_all"]),
        "grace": st.sampled_from(["10s", "60s", "10m"]),
        "catch_up_window": st.sampled_from(["5m", "1h"]),
        "max_catch_up_runs": st.sampled_from([1, 3, 100]),
        "if_running": st.sampled_from(["skip", "queue", "cancel", "allow"]),
        "queue_limit": st.sampled_from([1, 2, 1000]),
        "max_retries": st.sampled_from([0, 0, 1, 3, "endless"]),
        "retry_delay": st.sampled_from(["30s", "4m"]),
        "slot_preempts_retry": st.booleans(),
        "on_exhausted": st.sampled_from(["continue", "continue", "dead", "pause"]),
        "circuit_breaker": st.sampled_from(
            ["off", {"threshold": 2, "reset_after": "6m"}, {"threshold": 1, "name": "shared"}]
        ),
        "max_consecutive_errors": st.sampled_from([0, 0, 4]),
        "total_repeats": st.sampled_from([0, 0, 3]),
        "only_between": st.sampled_from(["08:10-08:40", "00:00-23:00"]),
        "on_constraint": st.sampled_from(["drop", "defer", "next_day"]),
        "not_on": st.sampled_from([[], [], ["tuesday"], ["2026-11-16"]]),
        "jitter": st.sampled_from(["20s", "3m"]),
        "first_run": st.sampled_from(["slot", "now"]),
        "delete_after_run": st.sampled_from([False, False, True]),
        "execution": st.sampled_from(["at_least_once", "at_least_once", "at_most_once"]),
    },
)


@st.composite
def schedules(draw: st.DrawFn) -> dict[str, Any]:
    """A schedule that validation accepts."""
    fields = draw(recurrences) | draw(targets) | draw(policies)
    try:
        specification(**fields)
    except InvalidSpecification:
        reject()
    return fields


endings = st.sampled_from([*Ending, Ending.SUCCEEDED, Ending.FAILED, Ending.FAILED])
actions = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, HOUR])),
    st.tuples(st.just("wait"), st.sampled_from([MINUTE, 4 * MINUTE])),
    st.tuples(st.just("step"), st.just(0)),
    st.tuples(st.just("claim"), st.just(0)),
    st.tuples(st.just("end"), endings),
    st.tuples(st.just("end"), endings),
    st.tuples(st.just("hand back"), st.just(0)),
    st.tuples(st.just("end"), st.just(Ending.SUCCEEDED)),
    st.tuples(st.sampled_from(["pause", "rest", "resume", "run", "delete", "cancel"]), st.just(0)),
    st.tuples(st.just("backfill"), st.just(0)),
    st.tuples(st.just("edit"), schedules()),
)


def perform(service: InMemoryService, action: str, what: Any, pick: int) -> None:
    """One action, on one of the schedules or running runs; what is refused changes nothing."""
    ids = sorted(service.schedules)
    running = [run.id for run in service.runs.values() if run.state is State.RUNNING]
    opened = [run.id for run in service.runs.values() if run.state in WAITING] + running
    if action == "wait":
        service.advance_to(service.now + what)
    elif action == "step":
        service.plan_due()
    elif action == "claim":
        service.claim()
    elif action == "end" and running:
        service.finish(running[pick % len(running)], what, error="boom")
    elif action == "hand back" and running:
        service.finish(running[pick % len(running)], Ending.LOST, handed_back=True)
    elif action == "cancel" and opened:
        run = service.runs[opened[pick % len(opened)]]
        if run.schedule_id in service.schedules:
            service.cancel(run.id)
    elif ids:
        identity = ids[pick % len(ids)]
        before = (dict(service.schedules), dict(service.runs))
        try:
            request(service, action, what, identity)
        except (Refused, InvalidSpecification):
            assert before == (service.schedules, service.runs), "what is refused changes nothing"


def request(service: InMemoryService, action: str, what: Any, identity: int) -> None:
    if action == "pause":
        service.pause(identity)
    elif action == "rest":
        service.pause(identity, until=service.now + 7 * MINUTE)
    elif action == "resume":
        service.resume(identity)
    elif action == "run":
        service.run_now(identity)
    elif action == "delete":
        service.delete(identity)
    elif action == "backfill":
        service.backfill(identity, "2026-11-16T07:30:00Z", "2026-11-16T07:50:00Z")
    elif action == "edit":
        service.edit(identity, **what)


histories = st.lists(st.tuples(actions, st.integers(0, 50)), max_size=40)


def replay(
    definitions: list[dict[str, Any]], history: list[Any], limits: Limits
) -> InMemoryService:
    service = InMemoryService(limits=limits)
    for fields in definitions:
        service.add(**fields)
    for (action, what), pick in history:
        perform(service, action, what, pick)
    return service


@LONG
@given(
    definitions=st.lists(schedules(), min_size=1, max_size=4),
    history=histories,
    limits=st.sampled_from([Limits(), Limits(max_dispatch_per_tick=1)]),
)
def test_after_any_history_nothing_is_stuck_and_the_counts_are_true(
    definitions: list[dict[str, Any]], history: list[Any], limits: Limits
):
    """The service checks at each step: a slot is never planned twice, nothing is planned early, the
    cursor never moves back, a closed run never changes, a half-open gate has its one probe, the
    same facts give the same plan, and what is refused changes nothing."""
    service = replay(definitions, history, limits)

    assert [s.status_reason for s in service.schedules.values() if s.status is Status.INVALID] == []
    for identity, schedule in service.schedules.items():
        own = [run for run in service.runs.values() if run.schedule_id == identity]
        assert schedule.planned_count == len(own), "each run has a number of its own"
        assert schedule.run_count == sum(run.state is State.SUCCEEDED for run in own)
        assert schedule.current_repeat == sum(
            run.state is State.SUCCEEDED and run.kind is Kind.SLOT for run in own
        )
        if schedule.status is not Status.ACTIVE:
            assert not [run for run in own if run.state is State.HELD], "nothing would release it"
            assert not [run for run in own if run.state in WAITING and run.kind is Kind.SLOT]
        else:
            assert schedule.wake_at is not None or service.open_runs(identity), "it has a next wake"
    waiting = [run.id for run in service.runs.values() if run.state in WAITING]
    let_all_succeed(service, waiting)
    assert [service.runs[each] for each in waiting if is_stuck(service, each)] == []


def let_all_succeed(service: InMemoryService, waiting: list[str]) -> None:
    """Lets all attempts succeed for some hours; longer if many runs are waiting."""
    for wait in [MINUTE] * 40 + [10 * MINUTE] * (12 + len(waiting)):
        if not any(service.runs[each].state in WAITING for each in waiting):
            return
        for run in list(service.runs.values()):
            if run.state is State.RUNNING:
                service.finish(run.id)
        service.advance_to(service.now + wait)
        service.plan_due()
        service.claim()


def is_stuck(service: InMemoryService, run_id: str) -> bool:
    """A run that is deferred to tomorrow's window is not, nor is one that is held behind it."""
    run = service.runs[run_id]
    if run.state not in WAITING or run.ready_at > service.now:
        return False
    deferred = [each for each in service.runs.values() if each.state is State.QUEUED]
    ahead = [each for each in deferred if each.scope == run.scope and each.ready_at > service.now]
    return not (run.state is State.HELD and ahead)


@LONG
@given(fields=schedules(), waits=st.lists(st.integers(1, 90), min_size=1, max_size=12))
def test_every_slot_up_to_the_cursor_is_a_run_or_in_a_row_with_a_reason(
    fields: dict[str, Any], waits: list[int]
):
    service = InMemoryService()
    identity = service.add(**fields)
    begun = service.schedules[identity]
    assume(not begun.specification.completion)  # its slots depend on the ends of its runs
    for wait in waits:
        service.advance_to(service.now + wait * MINUTE)
        service.plan_due()

    schedule = (service.schedules | service.deleted)[identity]
    named = set(slots_between(slots_of(begun), begun.cursor, schedule.cursor))
    ran = {run.slot for run in made_by_slots(service, identity)}
    rows = [row for (owner, _), row in service.not_run.items() if owner == identity]
    covered = {slot for slot in named if any(row.first <= slot <= row.last for row in rows)}
    assert ran <= named
    if schedule.status in (Status.ACTIVE, Status.DONE):
        assert ran | covered >= named
    assert sum(row.count for row in rows) + len(ran) == len(named)
    assert sum(row.count for row in rows) == len(covered - ran)


@LONG
@given(fields=schedules(), waits=st.lists(st.integers(1, 40), min_size=2, max_size=12))
def test_there_are_never_more_open_runs_than_the_policy_allows(
    fields: dict[str, Any], waits: list[int]
):
    service = InMemoryService()
    identity = service.add(**fields)
    chosen = service.versions[identity, 1]
    policy = fields.get("if_running", "skip")
    for wait in waits:
        service.advance_to(service.now + wait * MINUTE)
        service.plan_due()
        service.claim()
        opened = service.open_runs(identity)
        running = [run for run in opened if run.state is State.RUNNING]
        if policy != "allow":
            assert len(running) <= 1, "one schedule never runs beside itself"
            assert sum(run.state is not State.HELD for run in opened) <= 1 + (policy == "cancel")
        if policy == "skip":
            chain = chosen.catch_up.kept_max
            assert len(opened) <= chain, "only slots of one step stand in line"
        if policy == "queue":
            held = sum(run.state is State.HELD for run in opened)
            assert held <= chosen.overlap.queue_limit
        if chosen.total_repeats:
            assert len(opened) <= chosen.total_repeats


@LONG
@given(
    fields=schedules(),
    script=st.lists(st.sampled_from([Ending.FAILED, Ending.TIMED_OUT, Ending.LOST]), min_size=12),
)
def test_attempts_are_bounded(fields: dict[str, Any], script: list[Ending]):
    service = InMemoryService()
    identity = service.add(**fields)
    service.advance_to("08:30")
    for ending in script:
        service.plan_due()
        service.claim()
        for run in service.open_runs(identity):
            if run.state is State.RUNNING:
                service.finish(run.id, ending, error="boom")
        service.advance_to(service.now + MINUTE)

    retries = service.versions[identity, 1].retry.retries_max
    for run in service.runs.values():
        assert run.losses <= LOSSES_MAX
        if retries is not None:
            assert run.failures <= retries + 1
            assert run.attempt <= run.failures + run.losses + 1
        if fields.get("execution") == "at_most_once":
            assert run.attempt <= 1


in_two_steps = st.fixed_dictionaries(
    {
        "catch_up": st.just("run_all"),
        "if_running": st.sampled_from(["allow", "queue"]),
    },
    optional={
        "only_between": st.sampled_from(["08:10-08:40", "22:00-09:00"]),
        "on_constraint": st.sampled_from(["drop", "defer", "next_day"]),
        "not_on": st.sampled_from([[], [], ["tuesday"], ["2026-11-16"]]),
        "jitter": st.just("3m"),
    },
)


@LONG
@given(
    recurrence=recurrences.filter(lambda fields: "anchor" not in fields),
    policy=in_two_steps,
    first=st.integers(1, 50),
    second=st.integers(1, 50),
)
def test_run_all_planned_in_two_steps_is_the_same_as_planned_in_one(
    recurrence: dict[str, Any], policy: dict[str, Any], first: int, second: int
):
    try:
        specification(**recurrence, **policy)
    except InvalidSpecification:
        reject()

    def planned(stops: list[int]) -> tuple[list[Any], list[Any]]:
        service = InMemoryService()
        identity = service.add(**recurrence, **policy)
        for stop in stops:
            service.advance_to(at("08:00") + stop * MINUTE)
            service.plan_due()
        runs = [(run.slot, run.ready_at) for run in service.runs.values()]
        return runs, service.not_run_rows(identity)

    assert planned([first, first + second]) == planned([first + second])


@LONG
@given(
    count=st.integers(1, 12),
    allowed=st.integers(1, 6),
    once=st.sets(st.integers(0, 11)),
    parts=st.integers(1, 4),
)
def test_there_is_one_budget_for_an_outage_however_often_it_is_planned(
    count: int, allowed: int, once: set[int], parts: int
):
    service = InMemoryService(limits=Limits(max_catchup_runs=allowed, catchup_stagger_ms=5000))
    for number in range(count):
        if number in once:
            service.add(at=f"2026-11-16T08:{10 + number}:00Z")
        else:
            service.add(cron=f"{10 + number} * * * *")
    service.advance_to("08:50")
    service.outage = Outage(at("08:00"), at("08:50"))
    for part in range(parts):
        service.plan([i for i in sorted(service.schedules) if i % parts == part])

    recurring = [n for n in range(count) if n not in once]
    runs = list(service.runs.values())
    assert len(runs) == min(allowed, len(recurring)) + len(once & set(range(count)))
    starts = sorted(run.ready_at for run in runs)
    assert starts == [at("08:50") + n * 5 * SECOND for n in range(len(runs))]
