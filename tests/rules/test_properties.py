"""What holds for any history: generated schedules of every policy, generated outages, outcomes and
people. The world checks most promises at each step; what it cannot see is stated here."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from harness.rules.world import World, at, made_by_slots, specification
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
        "on_constraint": st.sampled_from(["drop", "defer"]),
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
deeds = st.one_of(
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


def do(world: World, deed: str, what: Any, pick: int) -> None:
    """One deed, on one of the schedules or running runs; what is refused changes nothing."""
    ids = sorted(world.schedules)
    running = [run.id for run in world.runs.values() if run.state is State.RUNNING]
    opened = [run.id for run in world.runs.values() if run.state in WAITING] + running
    if deed == "wait":
        world.go(world.now + what)
    elif deed == "step":
        world.step()
    elif deed == "claim":
        world.claim()
    elif deed == "end" and running:
        world.end(running[pick % len(running)], what, error="boom")
    elif deed == "hand back" and running:
        world.end(running[pick % len(running)], Ending.LOST, handed_back=True)
    elif deed == "cancel" and opened:
        run = world.runs[opened[pick % len(opened)]]
        if run.schedule_id in world.schedules:
            world.cancel(run.id)
    elif ids:
        identity = ids[pick % len(ids)]
        before = (dict(world.schedules), dict(world.runs))
        try:
            ask(world, deed, what, identity)
        except (Refused, InvalidSpecification):
            assert before == (world.schedules, world.runs), "what is refused changes nothing"


def ask(world: World, deed: str, what: Any, identity: int) -> None:
    if deed == "pause":
        world.pause(identity)
    elif deed == "rest":
        world.pause(identity, until=world.now + 7 * MINUTE)
    elif deed == "resume":
        world.resume(identity)
    elif deed == "run":
        world.run_now(identity)
    elif deed == "delete":
        world.delete(identity)
    elif deed == "backfill":
        world.backfill(identity, "2026-11-16T07:30:00Z", "2026-11-16T07:50:00Z")
    elif deed == "edit":
        world.edit(identity, **what)


histories = st.lists(st.tuples(deeds, st.integers(0, 50)), max_size=40)


def lived(definitions: list[dict[str, Any]], history: list[Any], limits: Limits) -> World:
    world = World(limits=limits)
    for fields in definitions:
        world.add(**fields)
    for (deed, what), pick in history:
        do(world, deed, what, pick)
    return world


@LONG
@given(
    definitions=st.lists(schedules(), min_size=1, max_size=4),
    history=histories,
    limits=st.sampled_from([Limits(), Limits(max_dispatch_per_tick=1)]),
)
def test_after_any_history_nothing_is_stuck_and_the_counts_are_true(
    definitions: list[dict[str, Any]], history: list[Any], limits: Limits
):
    """The world checks at each step: a slot is never planned twice, nothing is planned early, the
    cursor never moves back, a closed run never changes, a half-open gate has its one probe, the
    same facts give the same plan, and what is refused changes nothing."""
    world = lived(definitions, history, limits)

    assert [s.status_reason for s in world.schedules.values() if s.status is Status.INVALID] == []
    for identity, schedule in world.schedules.items():
        own = [run for run in world.runs.values() if run.schedule_id == identity]
        assert schedule.planned_count == len(own), "each run has a number of its own"
        assert schedule.run_count == sum(run.state is State.SUCCEEDED for run in own)
        assert schedule.current_repeat == sum(
            run.state is State.SUCCEEDED and run.kind is Kind.SLOT for run in own
        )
        if schedule.status is not Status.ACTIVE:
            assert not [run for run in own if run.state is State.HELD], "nobody would release it"
            assert not [run for run in own if run.state in WAITING and run.kind is Kind.SLOT]
        else:
            assert schedule.wake_at is not None or world.open(identity), "it has a next wake"
    waiting = [run.id for run in world.runs.values() if run.state in WAITING]
    heal(world, waiting)
    assert [world.runs[each] for each in waiting if is_stuck(world, each)] == []


def heal(world: World, waiting: list[str]) -> None:
    """From now on all work succeeds, and time goes on for some hours; a long line takes a while."""
    for wait in [MINUTE] * 40 + [10 * MINUTE] * (12 + len(waiting)):
        if not any(world.runs[each].state in WAITING for each in waiting):
            return
        for run in list(world.runs.values()):
            if run.state is State.RUNNING:
                world.end(run.id)
        world.go(world.now + wait)
        world.step()
        world.claim()


def is_stuck(world: World, run_id: str) -> bool:
    """Deferred to a window that opens only tomorrow is not."""
    run = world.runs[run_id]
    return run.state in WAITING and run.ready_at <= world.now


@LONG
@given(fields=schedules(), waits=st.lists(st.integers(1, 90), min_size=1, max_size=12))
def test_every_slot_up_to_the_cursor_is_a_run_or_in_a_row_with_a_reason(
    fields: dict[str, Any], waits: list[int]
):
    world = World()
    identity = world.add(**fields)
    begun = world.schedules[identity]
    assume(not begun.specification.completion)  # its slots depend on the ends of its runs
    for wait in waits:
        world.go(world.now + wait * MINUTE)
        world.step()

    schedule = (world.schedules | world.deleted)[identity]
    named = set(slots_between(slots_of(begun), begun.cursor, schedule.cursor))
    ran = {run.slot for run in made_by_slots(world, identity)}
    rows = [row for (owner, _), row in world.not_run.items() if owner == identity]
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
    world = World()
    identity = world.add(**fields)
    chosen = world.versions[identity, 1]
    policy = fields.get("if_running", "skip")
    for wait in waits:
        world.go(world.now + wait * MINUTE)
        world.step()
        world.claim()
        opened = world.open(identity)
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
    world = World()
    identity = world.add(**fields)
    world.go("08:30")
    for ending in script:
        world.step()
        world.claim()
        for run in world.open(identity):
            if run.state is State.RUNNING:
                world.end(run.id, ending, error="boom")
        world.go(world.now + MINUTE)

    retries = world.versions[identity, 1].retry.retries_max
    for run in world.runs.values():
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
        "on_constraint": st.sampled_from(["drop", "defer"]),
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
        world = World()
        identity = world.add(**recurrence, **policy)
        for stop in stops:
            world.go(at("08:00") + stop * MINUTE)
            world.step()
        runs = [(run.slot, run.ready_at) for run in world.runs.values()]
        return runs, world.rows(identity)

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
    world = World(limits=Limits(max_catchup_runs=allowed, catchup_stagger_ms=5000))
    for number in range(count):
        if number in once:
            world.add(at=f"2026-11-16T08:{10 + number}:00Z")
        else:
            world.add(cron=f"{10 + number} * * * *")
    world.go("08:50")
    world.outage = Outage(at("08:00"), at("08:50"))
    for part in range(parts):
        world.plan([i for i in sorted(world.schedules) if i % parts == part])

    recurring = [n for n in range(count) if n not in once]
    runs = list(world.runs.values())
    assert len(runs) == min(allowed, len(recurring)) + len(once & set(range(count)))
    starts = sorted(run.ready_at for run in runs)
    assert starts == [at("08:50") + n * 5 * SECOND for n in range(len(runs))]
