"""Catch-up: a step finds several slots due, or one later than `grace`. Which of them run?

`run_once`  the newest
`skip`      the newest, if it is within grace and a planner was alive when it came due
`run_all`   each, at most `max_catch_up_runs` of the newest

`catch_up_window` bounds how old a slot may be. What does not run is told by its number, never by a
look at each slot, so that a year asleep costs no more than an hour. A one-shot is never dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quarterjack.rules.model import SlotsNotRun
from quarterjack.rules.policies.windows import refused_for, stretches
from quarterjack.rules.reasons import Reason
from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Slots, Window


class CatchUpPolicy(TextEnum):
    RUN_ONCE = "run_once"
    SKIP = "skip"
    RUN_ALL = "run_all"


class CatchUp(NamedTuple):
    """How many of the due slots run, and how old they may be."""

    policy: CatchUpPolicy
    grace: int
    window: int | None
    runs_max: int

    @property
    def kept_max(self) -> int:
        return self.runs_max if self.policy is CatchUpPolicy.RUN_ALL else 1

    @property
    def age_max(self) -> int | None:
        return self.grace if self.policy is CatchUpPolicy.SKIP else self.window


class Due(NamedTuple):
    """The slots in (after, now]: there is at least one."""

    slots: Slots
    after: int
    first: int
    newest: int
    now: int

    @property
    def several(self) -> bool:
        return self.first < self.newest

    def row(self, low: int, high: int, reason: Reason) -> list[SlotsNotRun]:
        """One row for all slots in [low, high], or none."""
        first, last = self.slots.after(low - 1), self.slots.at_or_before(high)
        if first is None or last is None or first > last:
            return []
        return [SlotsNotRun(first, last, self.slots.count(low - 1, high), reason)]


class Chosen(NamedTuple):
    """Which slots may run, oldest first, and rows for all others."""

    slots: tuple[int, ...]
    not_run: Sequence[SlotsNotRun]
    caught_up: bool


def due_slots(slots: Slots, after: int, now: int) -> tuple[Due | None, int | None]:
    """What is due, if anything is, and the first slot that is not due yet."""
    first = slots.after(after)
    if first is None or first > now:
        return None, first
    following = slots.after(first)
    if following is None or following > now:
        return Due(slots, after, first, first, now), following
    newest = slots.at_or_before(now)
    assert newest is not None
    return Due(slots, after, first, newest, now), slots.after(now)


def choose(
    due: Due,
    policy: CatchUp,
    window: Window | None,
    missed_until: int | None = None,
    *,
    once: bool,
) -> Chosen:
    """Which of the due slots may run. A window is judged first: what it refuses is no candidate.
    What came due before `missed_until` was missed, for no planner was alive then."""
    is_missed = missed_until is not None and due.first < missed_until
    if is_missed and not once and policy.policy is CatchUpPolicy.SKIP:
        assert missed_until is not None
        return _without_missed(due, policy, window, missed_until)
    late = due.now - due.newest > policy.grace
    if missed_until is not None and due.newest < missed_until:
        late = True
    if once or not (late or due.several):
        reason = None if window is None else refused_for(window, due.newest)
        if reason is None:
            return Chosen((due.newest,), (), late)
        return Chosen((), due.row(due.newest, due.newest, reason), late)
    oldest = due.after + 1
    if policy.age_max is not None:
        oldest = max(oldest, due.now - policy.age_max)
    kept, not_run, rest_until = _newest(due, policy.kept_max, window, oldest)
    not_run += due.row(oldest, rest_until, _rest_reason(policy))
    not_run += due.row(due.after + 1, oldest - 1, _age_reason(policy))
    return Chosen(tuple(reversed(kept)), not_run, late or due.several)


def _without_missed(due: Due, policy: CatchUp, window: Window | None, missed_until: int) -> Chosen:
    """Nothing that came due while no planner was alive runs."""
    missed = due.row(due.first, missed_until - 1, Reason.OUTAGE)
    first = due.slots.after(missed_until - 1)
    if first is None or first > due.newest:
        return Chosen((), missed, caught_up=True)
    rest = due._replace(after=missed_until - 1, first=first)
    chosen = choose(rest, policy, window, once=False)
    return chosen._replace(not_run=[*missed, *chosen.not_run])


def _newest(
    due: Due, kept_max: int, window: Window | None, oldest: int
) -> tuple[list[int], list[SlotsNotRun], int]:
    """The newest slots that the window admits, newest first; rows for those it refused among them;
    and up to where all others lie."""
    kept: list[int] = []
    not_run: list[SlotsNotRun] = []
    rest_until = due.newest
    for first, last, refusal in stretches(due.slots, window, oldest, due.newest, kept_max):
        if refusal is not None:
            not_run += due.row(first, last, refusal)
            rest_until = first - 1
            continue
        slot: int | None = last
        while slot is not None and slot >= first and len(kept) < kept_max:
            kept.append(slot)
            rest_until = slot - 1
            slot = due.slots.at_or_before(rest_until)
        if len(kept) == kept_max:
            break
    return kept, not_run, rest_until


def _rest_reason(policy: CatchUp) -> Reason:
    everything = policy.policy is CatchUpPolicy.RUN_ALL
    return Reason.MAX_CATCH_UP_RUNS if everything else Reason.COALESCED


def _age_reason(policy: CatchUp) -> Reason:
    return Reason.GRACE if policy.policy is CatchUpPolicy.SKIP else Reason.CATCH_UP_WINDOW
