"""The checker: what must hold in any world, whatever was done to it. Each rule has the number that
it has in our catalogue of faults, and says what it found in the words of the glossary."""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from harness.sim.journal import Lives, PassedRow, RunRow
from harness.sim.oracle import MINUTE, SECOND, Definition
from harness.sim.outages import Outages
from harness.sim.tenures import History, Tenure, histories
from quarterjack.sim.faults import Fault
from quarterjack.sim.record import Line, Moment
from quarterjack.sim.world import World

SLACK = 90 * SECOND
"""After it was healed, what is due is decided within this time."""
PROMPT = 2 * SECOND
"""So soon a slot is planned if nothing is wrong."""
RECOVERY = 75 * SECOND
"""So long after a disturbance its effects may be felt: longer than from one look to the next."""
CLOCKS = {"healed", str(Fault.CLOCK), str(Fault.STROBE)}
OPEN = {"held", "queued", "running"}
WAITING = {"held", "queued"}

MAY_BE_PASSED_OVER_IF: dict[str, Callable[[Definition], bool]] = {
    "overlap": lambda d: d["if_running"] == "skip",
    "queue_full": lambda d: d["if_running"] == "queue",
    "only_between": lambda d: d["only_between"] is not None and d["on_constraint"] == "drop",
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

LEGAL = {
    ("held", "queued"), ("held", "skipped"), ("held", "cancelled"), ("held", "failed"),
    ("queued", "running"), ("queued", "skipped"), ("queued", "cancelled"), ("queued", "failed"),
    ("running", "succeeded"), ("running", "failed"), ("running", "timed_out"),
    ("running", "cancelled"), ("running", "lost"), ("running", "queued"), ("running", "held"),
}  # fmt: skip


class Violation(NamedTuple):
    rule: str
    what: str
    schedule_id: int | None = None
    run_id: str | None = None
    at: int | None = None


class Judge:
    """All that is known of a world that has been lived."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.record = world.record
        self.lives = Lives(world)
        self.histories = histories(
            self.record, self.lives, world.profile.limits.max_consecutive_errors
        )
        self.final = world.clock.now()
        self.starts: dict[tuple[str, int], list[Line]] = defaultdict(list)
        self.ends: dict[tuple[str, int], list[Line]] = defaultdict(list)
        for line in self.record.ledger:
            kind = self.starts if line.what == "started" else self.ends
            kind[line.run_id, line.attempt].append(line)
        self._disturbed = _merged(
            [(each.since, each.until + RECOVERY) for each in self.record.disturbances]
        )
        self._set = _merged(
            [(each.since, each.until) for each in self.record.disturbances if each.kind in CLOCKS]
        )
        self.outages = Outages(self)
        self.slots_judged = 0

    def moment(self, number: int) -> Moment:
        return self.record.moments[number]

    def is_disturbed(self, low: int, high: int) -> bool:
        """Was anything wrong between these instants of the world's own time?"""
        return _meets(self._disturbed, low, high)

    def was_set(self, low: int, high: int) -> bool:
        """Was the clock of all set between them? Then a verb may have been told what it showed
        before."""
        return _meets(self._set, low, high)

    def is_rationed(self, definition: Definition) -> bool:
        """May it have to wait for others?"""
        return definition.is_agent or self.world.profile.limits.has_budgets

    def violations(self) -> list[Violation]:
        found = [each for rule in RULES for each in rule(self)]
        found += [Violation("accident", each) for each in self.world.loop.accidents]
        return found


def _meets(spans: list[tuple[int, int]], low: int, high: int) -> bool:
    place = bisect_right(spans, (high, float("inf")))
    return place > 0 and spans[place - 1][1] >= low


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged


def every_slot_is_decided_once(judge: Judge) -> Iterator[Violation]:
    """C1, C2, C5, C9: each slot that was named is a run or lies in a row; nothing else is."""
    for history in judge.histories.values():
        runs = [life[0] for life in judge.lives.runs_of[history.id] if life[0].kind == "slot"]
        planned = Counter(run.slot for run in runs)
        for slot, count in planned.items():
            if count > 1:
                yield Violation("C3", f"slot {slot} was planned {count} times", history.id)
        for tenure in history.tenures:
            if tenure.when.completion:
                yield from _completion(judge, history, tenure, runs)
            else:
                yield from _conservation(judge, history, tenure, runs)


def _conservation(
    judge: Judge, history: History, tenure: Tenure, runs: list[RunRow]
) -> Iterator[Violation]:
    definition, low = tenure.when, tenure.start
    if definition.once:
        yield from _one_shot(judge, history, tenure, runs)
        return
    if tenure is history.tenures[0] and definition["first_run"] != "slot":
        low = tenure.start - (1 if definition["first_run"] == "now" else MINUTE)
    high = max(tenure.latest, low)
    named = definition.slots(tenure.anchor, tenure.created_at, low, high)
    must_low = max(tenure.start, tenure.settled_until)
    must_high = judge.final - SLACK if tenure.end is None else tenure.end
    ran = {run.slot for run in runs if tenure.began <= run.moment <= (tenure.ended or run.moment)
           and history.tenure_at(run.moment) is tenure}  # fmt: skip
    rows = _rows(judge, history, tenure)
    judge.slots_judged += len(named)
    known = set(named)
    for slot in sorted(ran - known):
        yield Violation("C5", f"slot {slot} is not one of its slots, and ran", history.id, at=slot)
    covered: set[int] = set()
    for row in rows:
        inside = named[bisect_left(named, row.first) : bisect_right(named, row.last)]
        left = [slot for slot in inside if slot not in ran]
        if row.first not in known or row.last not in known or len(left) != row.count:
            told = f"{row.count} slots from {row.first} to {row.last} ({row.reason})"
            yield Violation("C9", f"{told} are {len(left)}", history.id, at=row.first)
        if covered & set(left):
            yield Violation("C9", f"a slot lies in two rows, near {row.first}", history.id)
        covered.update(left)
    for slot in named:
        if must_low < slot <= must_high and slot not in ran and slot not in covered:
            yield Violation("C2", f"slot {slot} was never decided", history.id, at=slot)


def _rows(judge: Judge, history: History, tenure: Tenure) -> list[PassedRow]:
    """The rows of this tenure, each as it was at last."""
    last: dict[int, PassedRow] = {}
    for row in judge.lives.not_run[history.id]:
        if history.tenure_at(row.moment) is tenure:
            last[row.first] = row
    return sorted(last.values(), key=lambda row: row.first)


def _one_shot(
    judge: Judge, history: History, tenure: Tenure, runs: list[RunRow]
) -> Iterator[Violation]:
    """Never lost: it fires, though its instant be past, unless its tenure ends before."""
    (slot,) = tenure.when.slots(tenure.anchor, tenure.created_at, -(2**62), 2**62)
    fired = any(run.slot == slot for run in runs)
    beaten = any(run.slot >= slot for run in runs)
    refused = tenure.when["on_constraint"] == "drop" and tenure.when.refused(slot) is not None
    due = tenure.end is None and slot <= judge.final - SLACK
    judge.slots_judged += 1
    if due and not fired and not beaten and not refused:
        yield Violation("C2", f"the one slot {slot} never fired", history.id, at=slot)


def _completion(
    judge: Judge, history: History, tenure: Tenure, runs: list[RunRow]
) -> Iterator[Violation]:
    """Each slot is one interval after something: the start, the end of a run, or a skip."""
    ends = {life[-1].finished_at for life in judge.lives.runs_of[history.id]}
    looks = {judge.moment(row.moment).now for row in judge.lives.schedules[history.id]}
    anchors = {each for each in ends | looks | {tenure.start} if each is not None}
    for run in runs:
        if history.tenure_at(run.moment) is not tenure:
            continue
        judge.slots_judged += 1
        begins = run.slot in (tenure.created_at, tenure.when.starts_at)
        if not begins and not tenure.when.follows(run.slot, anchors):
            yield Violation("C5", f"slot {run.slot} follows no end of a run", history.id, run.id)


def reasons_are_allowed(judge: Judge) -> Iterator[Violation]:
    """C2, C9: what was passed over was passed over for a reason that its policies know."""
    for history in judge.histories.values():
        for row in judge.lives.not_run[history.id]:
            definition = history.definition_at(row.moment)
            before = history.definition_at(row.moment - 1) if row.moment else definition
            if not any(MAY_BE_PASSED_OVER_IF[row.reason](each) for each in (definition, before)):
                told = f"slots from {row.first} were passed over: {row.reason}"
                yield Violation("C2", told, history.id, at=row.first)
            if row.reason == "outage_limit" and not judge.is_rationed(definition):
                told = f"slots from {row.first} were passed over, and nothing is rationed"
                yield Violation("C2", told, history.id, at=row.first)
            if row.reason == "outage" and judge.outages.covers(row.last, row.moment):
                continue
            if row.reason in MISSED:
                yield from _lateness(judge, history, row.moment, row.last, "missed")


def slots_are_planned_promptly(judge: Judge) -> Iterator[Violation]:
    """C2, I6: late only if something was wrong."""
    for life in judge.lives.runs.values():
        run = life[0]
        history = judge.histories.get(run.schedule_id)
        if run.kind == "slot" and history is not None:
            yield from _lateness(judge, history, run.moment, run.slot, "planned")


def _lateness(
    judge: Judge, history: History, moment: int, slot: int, what: str
) -> Iterator[Violation]:
    at, now = judge.moment(moment).at, judge.moment(moment).now
    tenure = history.tenure_at(moment)
    if now is None or tenure is None or judge.is_rationed(tenure.when) or tenure.when.once:
        return
    late = now - slot
    since = judge.moment(tenure.began).at
    is_prompt = late <= PROMPT and what == "planned"
    if is_prompt or at - late < since + RECOVERY or tenure.when.completion:
        return
    if not judge.is_disturbed(at - late - RECOVERY, at):
        told = f"slot {slot} was {what} {late / SECOND:.1f} s late, and nothing was wrong"
        yield Violation("C2", told, history.id, at=slot)


def outages_are_caught_up_as_documented(judge: Judge) -> Iterator[Violation]:
    """C2: `skip` runs nothing that came due while no planner was alive; and what is caught up
    keeps to the budget, and to the stagger."""
    for what, run in judge.outages.nothing_missed_runs_under_skip():
        yield Violation("C2", what, run.schedule_id, run.id)
    for what, run in judge.outages.budgets_are_kept():
        yield Violation("C2", what, run.schedule_id, run.id)


def backfills_leave_out_what_is_done(judge: Judge) -> Iterator[Violation]:
    """C3: unless they were asked for `again`, the slots that have succeeded, or are open."""
    for schedule_id, rows in judge.lives.schedules.items():
        again = {}
        for row in rows:
            if row.backfill is not None:
                request, _, _, *beside = json.loads(row.backfill)
                again[request] = beside == [True]
        lives = judge.lives.runs_of[schedule_id]
        for run in (life[0] for life in lives if life[0].kind == "backfill"):
            others = [_before(life, run.moment) for life in lives if life[0].slot == run.slot]
            done = [
                each.id
                for each in others
                if each is not None and each.request != run.request
                and (each.state in OPEN or each.state == "succeeded")
            ]  # fmt: skip
            if done and not again.get(run.request, False):
                what = f"fills slot {run.slot}, which has the run {done[0]}"
                yield Violation("C3", what, schedule_id, run.id)


def _before(life: list[RunRow], moment: int) -> RunRow | None:
    known = [row for row in life if row.moment < moment]
    return known[-1] if known else None


def errors_in_a_row_are_counted(judge: Judge) -> Iterator[Violation]:
    """A failed attempt counts if a slot made its run; one that a person asked for only under the
    preset `agent`."""
    failed: dict[tuple[int, int], list[RunRow]] = defaultdict(list)
    settled: Counter[tuple[int, int]] = Counter()
    for life in judge.lives.runs.values():
        for before, after in itertools.pairwise(life):
            if before.state == "running" and after.state != "running":
                settled[after.schedule_id, after.moment] += 1
                if after.failures > before.failures:
                    failed[after.schedule_id, after.moment].append(after)
    for (schedule_id, moment), runs in failed.items():
        history = judge.histories.get(schedule_id)
        rows = judge.lives.schedules[schedule_id]
        place = bisect_left(rows, moment, key=lambda row: row.moment)
        if history is None or settled[schedule_id, moment] > 1 or not 0 < place < len(rows):
            continue
        (run,), then, now = runs, rows[place - 1], rows[place]
        is_agent = history.definition_at(moment).is_agent
        counts = run.kind == "slot" or (run.kind == "manual" and is_agent)
        expected = then.consecutive_errors + counts
        if now.moment == moment and now.consecutive_errors != expected:
            what = f"{now.consecutive_errors} errors in a row are told, and it is {expected}"
            yield Violation("errors", what, schedule_id, run.id)


def attempts_follow_each_other(judge: Judge) -> Iterator[Violation]:
    """C3, C4, C6, C10: one start for each attempt, none early, each after the end or the lease of
    the one before; what was replaced changes no row."""
    for life in judge.lives.runs.values():
        run = life[0]
        yield from _transitions(judge, life)
        for attempt in range(1, life[-1].attempt + 1):
            starts = judge.starts.get((run.id, attempt), [])
            if len(starts) > 1:
                places = " and ".join(line.place for line in starts)
                what = f"attempt {attempt} was started by {places}"
                yield Violation("C3", what, run.schedule_id, run.id, starts[1].at)
        if life[-1].attempt > 1 and _is_at_most_once(judge, run):
            yield Violation("C3", "at_most_once, and tried again", run.schedule_id, run.id)


def _is_at_most_once(judge: Judge, run: RunRow) -> bool:
    history = judge.histories.get(run.schedule_id)
    return history is not None and history.definition(run.version)["execution"] == "at_most_once"


def _transitions(judge: Judge, life: list[RunRow]) -> Iterator[Violation]:
    run = life[0]
    lease_until = 0
    for before, after in itertools.pairwise(life):
        moment = judge.moment(after.moment)
        where = (run.schedule_id, run.id, moment.at)
        if before.finished_at is not None or (
            before.state != after.state and (before.state, after.state) not in LEGAL
        ):
            yield Violation("C10", f"{before.state} became {after.state}", *where)
        if after.attempt < before.attempt:
            yield Violation("C10", "an attempt was taken back", *where)
        if after.state == "running":
            lease_until = after.lease_until or 0
        if before.state == "queued" and after.state == "running":
            yield from _claimed(judge, before, after, moment, where)
        if before.state == "running" and after.state != "running":
            yield from _settled(judge, before, after, moment, lease_until, where)
        if before.state == after.state == "running" and moment.verb == "claim_runs":
            yield Violation("C10", "was claimed though it ran", *where)


def _claimed(
    judge: Judge, before: RunRow, after: RunRow, moment: Moment, where: tuple[int, str, int]
) -> Iterator[Violation]:
    now = moment.now or 0
    is_first = before.kind == "slot" and before.attempt == 0
    if now < before.ready_at or (is_first and now < before.slot):
        yield Violation("C4", f"was claimed at {now}, and is ready at {before.ready_at}", *where)
    if after.attempt != before.attempt + 1:
        yield Violation("C10", f"attempt {before.attempt} became {after.attempt}", *where)
    rows = judge.lives.schedules[before.schedule_id]
    place = bisect_right(rows, after.moment, key=lambda row: row.moment)
    if place and rows[place - 1].status == "paused" and rows[place - 1].deleted_at is None:
        yield Violation("C5", "was started though its schedule is paused", *where)


def _settled(
    judge: Judge,
    before: RunRow,
    after: RunRow,
    moment: Moment,
    lease_until: int,
    where: tuple[int, str, int],
) -> Iterator[Violation]:
    """By its own worker; or by anybody, once its lease has lapsed."""
    now = moment.now or 0
    if moment.verb == "settle_runs":
        if moment.place != before.worker:
            yield Violation("C10", f"{before.worker}'s was settled by {moment.place}", *where)
    elif moment.verb == "rescue_runs":
        shown = now if judge.was_set(moment.at - 60 * SECOND, moment.at) else moment.clock
        if now < lease_until or shown < lease_until - SECOND:
            yield Violation("C3", f"was taken at {now}, its lease ends {lease_until}", *where)
        if not judge.is_disturbed(moment.at - judge.world.profile.lease - RECOVERY, moment.at):
            yield Violation("C3", f"{before.worker} lost it, and nothing was wrong", *where)
    else:
        yield Violation("C10", f"was ended by {moment.verb}", *where)
    if after.state == "succeeded" and after.attempt != before.attempt:
        yield Violation("C10", "another attempt than the one that ran has succeeded", *where)


def work_does_not_overlap(judge: Judge) -> Iterator[Violation]:
    """C7: unless it may, nothing runs beside another run of its scope; nobody waits beyond the
    limit."""
    spans: dict[str, list[tuple[int, int, str, int]]] = defaultdict(list)
    for life in judge.lives.runs.values():
        run = life[0]
        history = judge.histories.get(run.schedule_id)
        if history is None:
            continue
        for scope, begun, ended in _running(judge, life):
            spans[scope].append((begun, ended, run.id, run.schedule_id))
    for scope, found in spans.items():
        found.sort()
        latest: tuple[int, int, str, int] | None = None
        for span in found:
            meets = latest is not None and span[0] < latest[1] and span[2] != latest[2]
            if latest is not None and meets and not _may_overlap(judge, span, latest):
                what = f"ran beside {latest[2]} in {scope}"
                yield Violation("C7", what, span[3], span[2], judge.moment(span[0]).at)
            if latest is None or span[1] > latest[1]:
                latest = span


def _running(judge: Judge, life: list[RunRow]) -> Iterator[tuple[str, int, int]]:
    """From which moment to which each attempt held its run, and in which scope."""
    begun: int | None = None
    for before, after in itertools.pairwise(life):
        if before.state != "running" and after.state == "running":
            begun = after.moment
        if before.state == "running" and after.state != "running" and begun is not None:
            yield before.scope, begun, after.moment
            begun = None
    if begun is not None:
        yield life[-1].scope, begun, len(judge.record.moments)


def _may_overlap(
    judge: Judge, one: tuple[int, int, str, int], other: tuple[int, int, str, int]
) -> bool:
    """If either schedule allows it now or when its run was planned, or was edited meanwhile."""
    for _, _, run_id, schedule_id in (one, other):
        history = judge.histories[schedule_id]
        low = judge.lives.runs[run_id][0].moment
        high = max(one[0], other[0])
        held = [history.definition_at(low)]
        held += [each for since, each in history.versions if low < since <= high]
        if any(each["if_running"] == "allow" for each in held):
            return True
        if len({each.scope(schedule_id) for each in held}) > 1:
            return True
    return False


def retries_are_bounded(judge: Judge) -> Iterator[Violation]:
    """As many as the policy says."""
    for life in judge.lives.runs.values():
        run, last = life[0], life[-1]
        history = judge.histories.get(run.schedule_id)
        if history is None:
            continue
        definition = history.definition(run.version)
        most = definition["max_retries"]
        if most != "endless" and last.failures > most + 1:
            what = f"failed {last.failures} times, and max_retries is {most}"
            yield Violation("retry", what, run.schedule_id, run.id)
        ended = last.state in ("failed", "timed_out")
        if (
            ended
            and last.reason in (None, "exhausted")
            and last.failures != (most if most != "endless" else -1) + 1
        ):
            what = f"ended after {last.failures} failures, and max_retries is {most}"
            yield Violation("retry", what, run.schedule_id, run.id)
        if last.losses > 5:
            yield Violation("retry", f"was lost {last.losses} times", run.schedule_id, run.id)


def retries_wait_as_long_as_they_should(judge: Judge) -> Iterator[Violation]:
    """From the end of the failure, by the policy that the run was planned with."""
    ended = judge.world.database.ask(
        "select schedule_id, number, attempt, finished_at from attempts"
    )
    ends = {(f"{row[0]}-{row[1]}", row[2]): row[3] for row in ended}
    for life in judge.lives.runs.values():
        history = judge.histories.get(life[0].schedule_id)
        for before, after in itertools.pairwise(life):
            end = ends.get((before.id, before.attempt))
            again = after.state in WAITING and after.failures > before.failures
            if history is None or end is None or not again:
                continue
            waits = history.definition(before.version).retry_wait(after.failures)
            if after.ready_at - end != waits:
                told = (
                    f"waits {(after.ready_at - end) / SECOND:g} s to retry, not {waits / SECOND:g}"
                )
                yield Violation("retry", told, before.schedule_id, before.id)


def history_is_true(judge: Judge) -> Iterator[Violation]:
    """C8: what succeeded was done, what was done is told, and the counts agree."""
    for life in judge.lives.runs.values():
        run, last = life[0], life[-1]
        ends = judge.ends.get((run.id, last.attempt), [])
        told_at = judge.moment(last.moment).at
        done = any(line.what == "succeeded" and line.at <= told_at for line in ends)
        if last.state == "succeeded" and not done:
            what = f"attempt {last.attempt} is shown as succeeded, and did not"
            yield Violation("C8", what, run.schedule_id, run.id)
    for schedule_id, rows in judge.lives.schedules.items():
        last_row = rows[-1]
        lives = judge.lives.runs_of[schedule_id]
        succeeded = sum(life[-1].state == "succeeded" for life in lives)
        if last_row.planned_count != len(lives):
            what = f"planned_count is {last_row.planned_count}, and there are {len(lives)} runs"
            yield Violation("C8", what, schedule_id)
        if last_row.run_count != succeeded and last_row.deleted_at is None:
            what = f"run_count is {last_row.run_count}, and {succeeded} have succeeded"
            yield Violation("C8", what, schedule_id)
        numbers = sorted(life[0].number for life in lives)
        if numbers != list(range(len(numbers))):
            yield Violation("C8", "numbers of runs are left out or given twice", schedule_id)


def nothing_starts_after_a_deletion(judge: Judge) -> Iterator[Violation]:
    """C5, C6: the attempt that runs while its schedule is deleted is the last one, and nothing of
    it is left waiting."""
    for schedule_id, rows in judge.lives.schedules.items():
        deleted = next((row.moment for row in rows if row.deleted_at is not None), None)
        if deleted is None:
            continue
        for life in judge.lives.runs_of[schedule_id]:
            starts = [row for row in life if row.state == "running" and row.moment > deleted]
            known = {row.attempt for row in life if row.moment <= deleted}
            for row in starts:
                if row.attempt not in known:
                    at = judge.moment(row.moment).at
                    what = f"attempt {row.attempt} began after its schedule was deleted"
                    yield Violation("C5", what, schedule_id, row.id, at)
            if life[-1].state in WAITING:
                what = f"is {life[-1].state}, and its schedule was deleted"
                yield Violation("C6", what, schedule_id, life[-1].id)


def breakers_let_one_probe_through(judge: Judge) -> Iterator[Violation]:
    """While a breaker is not closed, only its probe is queued by a slot."""
    by_gate: dict[str, list[RunRow]] = defaultdict(list)
    for life in judge.lives.runs.values():
        for before, after in zip([None, *life], life, strict=False):
            is_queued = after.state == "queued" and (before is None or before.state == "held")
            # An edit may take the breaker away, and then what was held at it goes free.
            is_queued = is_queued and judge.moment(after.moment).verb != "edit_schedule"
            if after.gate is not None and after.kind == "slot" and is_queued:
                by_gate[after.gate].append(after)
    for key, rows in judge.lives.gates.items():
        for row, following in zip(rows, [*rows[1:], None], strict=False):
            if row.state == "closed":
                continue
            until = following.moment if following is not None else len(judge.record.moments)
            for run in by_gate[key]:
                if row.moment < run.moment < until and run.id != row.probe:
                    what = f"passed the breaker {key}, which is {row.state}"
                    yield Violation("probe", what, run.schedule_id, run.id)
                if run.moment == row.moment and row.state == "half_open" and run.id != row.probe:
                    what = f"passed the breaker {key} beside its probe {row.probe}"
                    yield Violation("probe", what, run.schedule_id, run.id)


def the_world_recovers(judge: Judge) -> Iterator[Violation]:
    """C6, C11: some time after it was healed nothing is stuck, and everybody is well."""
    world, final = judge.world, judge.final
    for life in judge.lives.runs.values():
        last = life[-1]
        if last.state == "running" and (last.lease_until or 0) < final - SLACK:
            what = f"runs, and its lease ended at {last.lease_until}"
            yield Violation("C11", what, last.schedule_id, last.id)
        if last.state == "queued" and last.ready_at < final - SLACK:
            yield Violation("C11", "is ready, and nobody runs it", last.schedule_id, last.id)
        if last.state == "held" and not _waits_rightly(judge, last):
            yield Violation("C11", "is held, and nobody releases it", last.schedule_id, last.id)
    overdue = world.database.ask(
        "select id, wake_at from schedules where wake_at < $1 and deleted_at is null",
        final - SLACK,
    )
    for schedule_id, wake_at in overdue:
        yield Violation("C11", f"was to be looked at at {wake_at}", schedule_id)
    for schedule_id, reason in world.database.ask(
        "select id, status_reason from schedules where status = 'invalid'"
    ):
        yield Violation("C11", f"is invalid: {reason}", schedule_id)
    for host in world.hosts:
        if host.node is not None and host.is_up and host.node.problems():
            yield Violation("C11", f"{host.name} is not well: {host.node.problems()}")
    ((unsent,),) = world.database.ask("select count(*) from outbox where sent_at is null")
    if unsent:
        yield Violation("C11", f"{unsent} notices are not told")


def _waits_rightly(judge: Judge, held: RunRow) -> bool:
    """For its own time, behind another run of its scope, or at a gate that is open or is being
    tried."""
    if held.ready_at >= judge.final - SLACK:
        return True
    gate = judge.lives.gates.get(held.gate or "")
    if gate and gate[-1].state != "closed":
        return True
    return any(
        life[-1].state in OPEN and life[-1].id != held.id and life[-1].scope == held.scope
        and (life[-1].state != "held" or life[-1].slot <= held.slot)
        for life in judge.lives.runs.values()
    )  # fmt: skip


RULES: tuple[Callable[[Judge], Iterator[Violation]], ...] = (
    every_slot_is_decided_once,
    reasons_are_allowed,
    slots_are_planned_promptly,
    outages_are_caught_up_as_documented,
    backfills_leave_out_what_is_done,
    errors_in_a_row_are_counted,
    attempts_follow_each_other,
    work_does_not_overlap,
    retries_are_bounded,
    retries_wait_as_long_as_they_should,
    history_is_true,
    breakers_let_one_probe_through,
    nothing_starts_after_a_deletion,
    the_world_recovers,
)
