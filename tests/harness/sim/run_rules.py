"""What must hold of runs and their attempts: legal transitions, one start for each attempt, no
overlap, bounded retries."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from harness.sim.journal import GateRow, RunRow
from harness.sim.oracle import SECOND, duration_of
from harness.sim.violation import AFTERMATH, Violation
from quarterjack.sim.record import Disturbance, StoreCall

if TYPE_CHECKING:
    from harness.sim.checker import Checker

WAITING_STATES = {"held", "queued"}
LOSSES_MAX = 5
STOPPING, STALLED_MAX = 5 * SECOND, 600 * SECOND
"""How long a blocked event loop keeps its leases: until the timeout of the attempt and what a stop
may take; without a timeout, until it has been blocked for so long."""

LEGAL_TRANSITIONS = {
    ("held", "queued"), ("held", "skipped"), ("held", "cancelled"), ("held", "failed"),
    ("queued", "running"), ("queued", "skipped"), ("queued", "cancelled"), ("queued", "failed"),
    ("running", "succeeded"), ("running", "failed"), ("running", "timed_out"),
    ("running", "cancelled"), ("running", "lost"), ("running", "queued"), ("running", "held"),
    ("running", "skipped"),
}  # fmt: skip


def consecutive_errors_are_counted(checker: Checker) -> Iterator[Violation]:
    """A failed attempt counts if a slot made its run; that of a manual run only under the preset
    `agent`."""
    failed: dict[tuple[int, int], list[RunRow]] = defaultdict(list)
    settled: Counter[tuple[int, int]] = Counter()
    for versions in checker.rows.runs.values():
        for before, after in itertools.pairwise(versions):
            if before.state == "running" and after.state != "running":
                settled[after.schedule_id, after.call_index] += 1
                if after.failures > before.failures:
                    failed[after.schedule_id, after.call_index].append(after)
    for (schedule_id, call_index), runs in failed.items():
        history = checker.histories.get(schedule_id)
        rows = checker.rows.schedules[schedule_id]
        index = bisect_left(rows, call_index, key=lambda row: row.call_index)
        if history is None or settled[schedule_id, call_index] > 1 or not 0 < index < len(rows):
            continue
        (run,), then, now = runs, rows[index - 1], rows[index]
        is_agent = history.definition_at(call_index).is_agent
        counts = run.kind == "slot" or (run.kind == "manual" and is_agent)
        expected = then.consecutive_errors + counts
        if now.call_index == call_index and now.consecutive_errors != expected:
            what = f"consecutive_errors is {now.consecutive_errors}, expected {expected}"
            yield Violation("errors", what, schedule_id, run.id)


def attempts_follow_each_other(checker: Checker) -> Iterator[Violation]:
    """C3, C4, C6, C10: one start for each attempt, none early, each after the end or the lease of
    the one before; a fenced attempt changes no row."""
    for versions in checker.rows.runs.values():
        run = versions[0]
        yield from _check_transitions(checker, versions)
        for attempt in range(1, versions[-1].attempt + 1):
            starts = checker.starts.get((run.id, attempt), [])
            if len(starts) > 1:
                actors = " and ".join(event.actor for event in starts)
                what = f"attempt {attempt} was started by {actors}"
                yield Violation("C3", what, run.schedule_id, run.id, starts[1].at)
        if versions[-1].attempt > 1 and _is_at_most_once(checker, run):
            yield Violation("C3", "at_most_once, and retried", run.schedule_id, run.id)


def _is_at_most_once(checker: Checker, run: RunRow) -> bool:
    history = checker.histories.get(run.schedule_id)
    return history is not None and history.definition(run.version)["execution"] == "at_most_once"


def _check_transitions(checker: Checker, versions: list[RunRow]) -> Iterator[Violation]:
    run = versions[0]
    lease_until = 0
    for before, after in itertools.pairwise(versions):
        call = checker.call(after)
        where = (run.schedule_id, run.id, call.at)
        if before.finished_at is not None or (
            before.state != after.state and (before.state, after.state) not in LEGAL_TRANSITIONS
        ):
            yield Violation("C10", f"{before.state} became {after.state}", *where)
        if after.attempt < before.attempt:
            yield Violation("C10", "the number of attempts decreased", *where)
        if after.state == "running":
            lease_until = after.lease_until or 0
        if before.state == "queued" and after.state == "running":
            yield from _check_claim(checker, before, after, call, where)
        if before.state == "running" and after.state != "running":
            yield from _check_settlement(checker, before, after, call, lease_until, where)
        if before.state == after.state == "running" and call.transaction == "claim_runs":
            yield Violation("C10", "was claimed while it was running", *where)


def _check_claim(
    checker: Checker, before: RunRow, after: RunRow, call: StoreCall, where: tuple[int, str, int]
) -> Iterator[Violation]:
    now = call.now or 0
    is_first = before.kind == "slot" and before.attempt == 0
    if now < before.ready_at or (is_first and now < before.slot):
        yield Violation("C4", f"was claimed at {now}, and is ready at {before.ready_at}", *where)
    if after.attempt != before.attempt + 1:
        yield Violation("C10", f"attempt {before.attempt} became {after.attempt}", *where)
    rows = checker.rows.schedules[before.schedule_id]
    index = bisect_right(rows, after.call_index, key=lambda row: row.call_index)
    if index and rows[index - 1].status == "paused" and rows[index - 1].deleted_at is None:
        yield Violation("C5", "was started while its schedule was paused", *where)


def _check_settlement(
    checker: Checker,
    before: RunRow,
    after: RunRow,
    call: StoreCall,
    lease_until: int,
    where: tuple[int, str, int],
) -> Iterator[Violation]:
    """By its own worker, or by any rescuer after its lease."""
    now = call.now or 0
    if call.transaction == "settle_runs":
        if call.actor != before.worker:
            yield Violation("C10", f"of {before.worker} was settled by {call.actor}", *where)
    elif call.transaction == "rescue_runs":
        clock = now if checker.was_clock_set(call.at - 60 * SECOND, call.at) else call.clock
        if now < lease_until or clock < lease_until - SECOND:
            yield Violation("C3", f"was rescued at {now}, its lease ends {lease_until}", *where)
        yield from _check_loss(checker, before, call.at, where)
    else:
        yield Violation("C10", f"was ended by {call.transaction}", *where)
    if after.state == "succeeded" and after.attempt != before.attempt:
        yield Violation("C10", "an attempt succeeded that was not running", *where)


def _check_loss(
    checker: Checker, run: RunRow, at: int, where: tuple[int, str, int]
) -> Iterator[Violation]:
    """A lease is lost by a fault; by a blocked event loop only after a while."""
    window = checker.simulation.profile.lease + AFTERMATH
    blocks = checker.blocks(at - window, at)
    if not blocks:
        if not checker.is_disturbed(at - window, at):
            yield Violation("C3", f"{run.worker} lost it, without a fault", *where)
        return
    # A rescuer that is blocked is late: the fault may have been before.
    since = min(each.since for each in blocks) - window
    own = [each for each in blocks if each.actor == run.worker]
    if not checker.is_disturbed_otherwise(since, at) and not _may_expire(checker, run, own, at):
        what = f"{run.worker} lost it, while an event loop was blocked"
        yield Violation("C3", what, *where)


def _may_expire(checker: Checker, run: RunRow, blocks: list[Disturbance], at: int) -> bool:
    """After its timeout and the time that a stop may take, or when it was blocked for too long."""
    if any(min(each.until, at) - each.since >= STALLED_MAX for each in blocks):
        return True
    starts, timeout = checker.starts.get((run.id, run.attempt), []), _timeout_of(checker, run)
    if not blocks or not starts or timeout is None:
        return False
    return starts[0].at + timeout + STOPPING <= at - checker.simulation.profile.lease // 2


def _timeout_of(checker: Checker, run: RunRow) -> int | None:
    history = checker.histories.get(run.schedule_id)
    timeout = "none" if history is None else history.definition(run.version)["timeout"]
    return None if timeout == "none" else duration_of(timeout)


class _Span(NamedTuple):
    """A run in the state `running`, in store calls."""

    start: int
    end: int
    run_id: str
    schedule_id: int


def runs_do_not_overlap(checker: Checker) -> Iterator[Violation]:
    """C7: no run beside another one of its scope, unless `if_running` allows it."""
    spans: dict[str, list[_Span]] = defaultdict(list)
    for versions in checker.rows.runs.values():
        if versions[0].schedule_id in checker.histories:
            for scope, span in _running_spans(checker, versions):
                spans[scope].append(span)
    for scope, found in spans.items():
        found.sort()
        latest: _Span | None = None
        for span in found:
            overlaps = (
                latest is not None and span.start < latest.end and span.run_id != latest.run_id
            )
            if latest is not None and overlaps and not _may_overlap(checker, span, latest):
                what = f"ran beside {latest.run_id} in {scope}"
                at = checker.record.calls[span.start].at
                yield Violation("C7", what, span.schedule_id, span.run_id, at)
            if latest is None or span.end > latest.end:
                latest = span


def _running_spans(checker: Checker, versions: list[RunRow]) -> Iterator[tuple[str, _Span]]:
    run, start = versions[0], None
    for before, after in itertools.pairwise(versions):
        if before.state != "running" and after.state == "running":
            start = after.call_index
        if before.state == "running" and after.state != "running" and start is not None:
            yield before.scope, _Span(start, after.call_index, run.id, run.schedule_id)
            start = None
    if start is not None:
        end = len(checker.record.calls)
        yield versions[-1].scope, _Span(start, end, run.id, run.schedule_id)


def _may_overlap(checker: Checker, one: _Span, other: _Span) -> bool:
    """If either schedule allowed it at any time since its run was planned, or changed its scope."""
    end = max(one.start, other.start)
    for span in (one, other):
        history = checker.histories[span.schedule_id]
        planned = checker.rows.runs[span.run_id][0].call_index
        definitions = [history.definition_at(planned)]
        definitions += [each for since, each in history.versions if planned < since <= end]
        if any(each["if_running"] == "allow" for each in definitions):
            return True
        if len({each.scope(span.schedule_id) for each in definitions}) > 1:
            return True
    return False


def retries_are_bounded(checker: Checker) -> Iterator[Violation]:
    for versions in checker.rows.runs.values():
        run, last = versions[0], versions[-1]
        history = checker.histories.get(run.schedule_id)
        if history is None:
            continue
        retries = history.definition(run.version)["max_retries"]
        if retries != "endless" and last.failures > retries + 1:
            what = f"failed {last.failures} times, and max_retries is {retries}"
            yield Violation("retry", what, run.schedule_id, run.id)
        has_failed = last.state in ("failed", "timed_out") and last.reason in (None, "exhausted")
        if has_failed and last.failures != (retries if retries != "endless" else -1) + 1:
            what = f"ended after {last.failures} failures, and max_retries is {retries}"
            yield Violation("retry", what, run.schedule_id, run.id)
        if last.losses > LOSSES_MAX:
            yield Violation("retry", f"was lost {last.losses} times", run.schedule_id, run.id)


def nothing_starts_after_a_deletion(checker: Checker) -> Iterator[Violation]:
    """C5, C6: an attempt that is running when its schedule is deleted is the last one, and no run
    is left waiting."""
    for schedule_id, rows in checker.rows.schedules.items():
        deleted = next((row.call_index for row in rows if row.deleted_at is not None), None)
        if deleted is None:
            continue
        for versions in checker.rows.runs_of[schedule_id]:
            known = {row.attempt for row in versions if row.call_index <= deleted}
            for row in versions:
                is_start = row.state == "running" and row.call_index > deleted
                if is_start and row.attempt not in known:
                    what = f"attempt {row.attempt} began after its schedule was deleted"
                    yield Violation("C5", what, schedule_id, row.id, checker.call(row).at)
            if versions[-1].state in WAITING_STATES:
                what = f"is {versions[-1].state}, and its schedule was deleted"
                yield Violation("C6", what, schedule_id, versions[-1].id)


def breakers_let_one_probe_through(checker: Checker) -> Iterator[Violation]:
    """While a breaker is not closed, slots queue only its probe."""
    queued: dict[str, list[RunRow]] = defaultdict(list)
    for versions in checker.rows.runs.values():
        for before, after in zip([None, *versions], versions, strict=False):
            is_queued = after.state == "queued" and (before is None or before.state == "held")
            # An edit may remove the breaker, which releases what was held at it.
            is_queued = is_queued and checker.call(after).transaction != "edit_schedule"
            if after.gate is not None and after.kind == "slot" and is_queued:
                queued[after.gate].append(after)
    for key, rows in checker.rows.gates.items():
        for row, following in zip(rows, [*rows[1:], None], strict=False):
            if row.state != "closed":
                until = len(checker.record.calls) if following is None else following.call_index
                yield from _check_probe(row, until, queued[key])


def _check_probe(gate: GateRow, until: int, queued: list[RunRow]) -> Iterator[Violation]:
    for run in queued:
        if run.id == gate.probe:
            continue
        if gate.call_index < run.call_index < until:
            what = f"passed the breaker {gate.key}, which is {gate.state}"
            yield Violation("probe", what, run.schedule_id, run.id)
        if run.call_index == gate.call_index and gate.state == "half_open":
            what = f"passed the breaker {gate.key} beside its probe {gate.probe}"
            yield Violation("probe", what, run.schedule_id, run.id)
