"""What must hold of slots: each is decided once, in time, and for an allowed reason."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from harness.sim.active_periods import ActivePeriod, ScheduleHistory
from harness.sim.journal import RunRow, SlotsNotRunRow
from harness.sim.oracle import MINUTE, SECOND, Definition, duration_of
from harness.sim.recovery_rules import DECIDED_WITHIN, OPEN_STATES
from harness.sim.violation import AFTERMATH, Violation

if TYPE_CHECKING:
    from harness.sim.checker import Checker

PLANNED_WITHIN = 2 * SECOND
"""Of its slot, without faults."""

REASON_IS_ALLOWED: dict[str, Callable[[Definition], bool]] = {
    "overlap": lambda d: d["if_running"] == "skip",
    "queue_full": lambda d: d["if_running"] == "queue",
    "only_between": lambda d: d["only_between"] is not None and d["on_constraint"] != "defer",
    "not_on": lambda d: bool(d["not_on"]) and d["on_constraint"] == "drop",
    "breaker_open": lambda d: d["circuit_breaker"] != "off",
    "breaker_probing": lambda d: d["circuit_breaker"] != "off",
    "outstanding_polls": lambda d: (d.plugin_command() or "").endswith("/poll"),
    "repeats": lambda d: d["total_repeats"] > 0,
    "consecutive_errors": lambda d: d["max_consecutive_errors"] > 0,
    "exhausted": lambda d: d["on_exhausted"] in ("dead", "pause"),
    "coalesced": lambda d: d["catch_up"] in ("run_once", "skip"),
    "grace": lambda d: d["catch_up"] == "skip",
    "max_catch_up_runs": lambda d: d["catch_up"] == "run_all",
    "catch_up_window": lambda d: d["catch_up_window"] is not None and d["catch_up"] != "skip",
    "outage": lambda d: d["catch_up"] == "skip",
    "outage_limit": lambda d: True,
}
MISSED = {"coalesced", "grace", "max_catch_up_runs", "catch_up_window", "outage", "outage_limit"}


def every_slot_is_decided_once(checker: Checker) -> Iterator[Violation]:
    """C1, C2, C5, C9: each slot of an active schedule is a run or lies in a row of slots not run,
    and nothing else is."""
    for history in checker.histories.values():
        runs = [rows[0] for rows in checker.rows.runs_of[history.id] if rows[0].kind == "slot"]
        for slot, count in Counter(run.slot for run in runs).items():
            if count > 1:
                yield Violation("C3", f"slot {slot} was planned {count} times", history.id)
        for period in history.periods:
            if period.definition.counts_from_completion:
                yield from _check_completion(checker, history, period, runs)
            elif period.definition.is_one_shot:
                yield from _check_one_shot(checker, history, period, runs)
            else:
                yield from _check_slots(checker, history, period, runs)


def _check_slots(
    checker: Checker, history: ScheduleHistory, period: ActivePeriod, runs: list[RunRow]
) -> Iterator[Violation]:
    definition, low = period.definition, period.start
    if period is history.periods[0] and definition["first_run"] != "slot":
        low = period.start - (1 if definition["first_run"] == "now" else MINUTE)
    slots = definition.slots(period.anchor, period.created_at, low, max(period.latest, low))
    checker.slots_checked += len(slots)
    last_call = period.last_call
    ran = {
        run.slot
        for run in runs
        if period.first_call <= run.call_index <= (last_call or run.call_index)
        and history.period_at(run.call_index) is period
    }
    known = set(slots)
    for slot in sorted(ran - known):
        yield Violation("C5", f"slot {slot} ran and is not one of its slots", history.id, at=slot)
    not_run: set[int] = set()
    for row in _slots_not_run_rows(checker, history, period):
        inside = slots[bisect_left(slots, row.first) : bisect_right(slots, row.last)]
        left = [slot for slot in inside if slot not in ran]
        if row.first not in known or row.last not in known or len(left) != row.count:
            stored = f"{row.count} slots from {row.first} to {row.last} ({row.reason})"
            yield Violation("C9", f"{stored} are {len(left)}", history.id, at=row.first)
        if not_run & set(left):
            yield Violation("C9", f"a slot lies in two rows, near {row.first}", history.id)
        not_run.update(left)
    decided_after = max(period.start, period.decided_until)
    decided_until = checker.ended_at - DECIDED_WITHIN if period.end is None else period.end
    for slot in slots:
        if decided_after < slot <= decided_until and slot not in ran and slot not in not_run:
            yield Violation("C2", f"slot {slot} was never decided", history.id, at=slot)


def _slots_not_run_rows(
    checker: Checker, history: ScheduleHistory, period: ActivePeriod
) -> list[SlotsNotRunRow]:
    """Of this period, each in its last version."""
    last: dict[int, SlotsNotRunRow] = {}
    for row in checker.rows.slots_not_run[history.id]:
        if history.period_at(row.call_index) is period:
            last[row.first] = row
    return sorted(last.values(), key=lambda row: row.first)


def _check_one_shot(
    checker: Checker, history: ScheduleHistory, period: ActivePeriod, runs: list[RunRow]
) -> Iterator[Violation]:
    """It runs even if its instant is past, unless its period ends before."""
    (slot,) = period.definition.slots(period.anchor, period.created_at, -(2**62), 2**62)
    is_decided = any(run.slot >= slot for run in runs)
    dropping = {"drop": ("only_between", "not_on"), "next_day": ("only_between",), "defer": ()}
    refusal = period.definition.window_refusal(slot)
    is_dropped = refusal in dropping[period.definition["on_constraint"]]
    is_due = period.end is None and slot <= checker.ended_at - DECIDED_WITHIN
    checker.slots_checked += 1
    if is_due and not is_decided and not is_dropped:
        yield Violation("C2", f"the one slot {slot} never ran", history.id, at=slot)


def _check_completion(
    checker: Checker, history: ScheduleHistory, period: ActivePeriod, runs: list[RunRow]
) -> Iterator[Violation]:
    """Each slot is one interval after the start, the end of a run, or a skip."""
    ends = {rows[-1].finished_at for rows in checker.rows.runs_of[history.id]}
    changes = {checker.call(row).now for row in checker.rows.schedules[history.id]}
    anchors = {each for each in ends | changes | {period.start} if each is not None}
    for run in runs:
        if history.period_at(run.call_index) is not period:
            continue
        checker.slots_checked += 1
        is_first = run.slot in (period.created_at, period.definition.starts_at)
        if not is_first and not period.definition.follows(run.slot, anchors):
            yield Violation("C5", f"slot {run.slot} follows no end of a run", history.id, run.id)


def reasons_are_allowed(checker: Checker) -> Iterator[Violation]:
    """C2, C9: slots were not run for a reason that the schedule's policies can give."""
    for history in checker.histories.values():
        for row in checker.rows.slots_not_run[history.id]:
            definition = history.definition_at(row.call_index)
            before = history.definition_at(row.call_index - 1) if row.call_index else definition
            what = f"slots from {row.first} were not run: {row.reason}"
            if not any(REASON_IS_ALLOWED[row.reason](each) for each in (definition, before)):
                yield Violation("C2", what, history.id, at=row.first)
            if row.reason == "outage_limit" and not checker.is_limited(definition):
                yield Violation("C2", f"{what}, without limits", history.id, at=row.first)
            if row.reason == "outage" and checker.outages.covers(row.last, row.call_index):
                continue
            if row.reason in MISSED:
                yield from _check_delay(checker, history, row, row.last, "missed")


def slots_are_planned_promptly(checker: Checker) -> Iterator[Violation]:
    """C2, I6: late only after a fault."""
    for versions in checker.rows.runs.values():
        run = versions[0]
        history = checker.histories.get(run.schedule_id)
        if run.kind == "slot" and history is not None:
            yield from _check_delay(checker, history, run, run.slot, "planned")


def runs_of_excluded_days_wait_for_the_next_day(checker: Checker) -> Iterator[Violation]:
    """C4: `next_day` moves a run to the same wall time on the next admitted day; jitter and an
    outage only make it later."""
    for versions in checker.rows.runs.values():
        run, history = versions[0], checker.histories.get(versions[0].schedule_id)
        if run.kind != "slot" or history is None:
            continue
        definition = history.definition(run.version)
        if definition["on_constraint"] != "next_day":
            continue
        expected = definition.next_day(run.slot)
        moved = run.ready_at - expected
        jitter = 0 if definition["jitter"] is None else duration_of(definition["jitter"])
        checker.slots_checked += 1
        planned_at = checker.call(run).now
        is_prompt = planned_at is not None and planned_at <= expected
        is_exact = is_prompt and not checker.is_limited(definition)
        if moved < 0 or (moved > jitter and is_exact):
            what = f"slot {run.slot} is ready at {run.ready_at}, not at {expected}"
            yield Violation("C4", what, run.schedule_id, run.id)


def _check_delay(
    checker: Checker, history: ScheduleHistory, row: RunRow | SlotsNotRunRow, slot: int, what: str
) -> Iterator[Violation]:
    call, period = checker.call(row), history.period_at(row.call_index)
    if call.now is None or period is None or checker.is_limited(period.definition):
        return
    if period.definition.is_one_shot or period.definition.counts_from_completion:
        return
    delay = call.now - slot
    active_since = checker.record.calls[period.first_call].at
    is_prompt = delay <= PLANNED_WITHIN and what == "planned"
    if is_prompt or call.at - delay < active_since + AFTERMATH:
        return
    if not checker.is_disturbed(call.at - delay - AFTERMATH, call.at):
        text = f"slot {slot} was {what} {delay / SECOND:.1f} s late, without a fault"
        yield Violation("C2", text, history.id, at=slot)


def outages_are_caught_up_as_documented(checker: Checker) -> Iterator[Violation]:
    """C2: `skip` runs nothing that came due while no planner was alive, and catching up keeps to
    the budget and the stagger."""
    for what, run in checker.outages.skip_runs_nothing_missed():
        yield Violation("C2", what, run.schedule_id, run.id)
    for what, run in checker.outages.budgets_are_kept():
        yield Violation("C2", what, run.schedule_id, run.id)


def backfills_leave_out_what_is_done(checker: Checker) -> Iterator[Violation]:
    """C3: without `again`, slots that have succeeded or have an open run."""
    for schedule_id, rows in checker.rows.schedules.items():
        again = {}
        for row in rows:
            if row.backfill is not None:
                request, _, _, *options = json.loads(row.backfill)
                again[request] = options == [True]
        runs = checker.rows.runs_of[schedule_id]
        for run in (versions[0] for versions in runs if versions[0].kind == "backfill"):
            others = [_before(versions, run) for versions in runs if versions[0].slot == run.slot]
            done = [
                each.id
                for each in others
                if each is not None and each.request != run.request
                and (each.state in OPEN_STATES or each.state == "succeeded")
            ]  # fmt: skip
            if done and not again.get(run.request, False):
                what = f"fills slot {run.slot}, which has the run {done[0]}"
                yield Violation("C3", what, schedule_id, run.id)


def _before(versions: list[RunRow], run: RunRow) -> RunRow | None:
    known = [row for row in versions if row.call_index < run.call_index]
    return known[-1] if known else None
