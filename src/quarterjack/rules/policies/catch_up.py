"""Catch-up: which slots run when several are due at once, or one is later than `grace`.

`run_once`  the newest
`skip`      the newest, if it is within grace and a planner was alive when it came due
`run_all`   each, at most `max_catch_up_runs` of the newest

`catch_up_window` limits how old a slot may be. A one-shot is never dropped. The slots that do not
run are counted without iterating over them, so that an outage of a year costs no more than one of
an hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quarterjack.rules.model import SlotsNotRun
from quarterjack.rules.policies.windows import spans, window_reason
from quarterjack.rules.reasons import Reason
from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Slots, Window


class CatchUpPolicy(TextEnum):
    RUN_ONCE = "run_once"
    SKIP = "skip"
    RUN_ALL = "run_all"


class CatchUp(NamedTuple):
    """The settings of catch-up, with the limits that follow from the policy."""

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
    """The slots in (after, now], of which there is at least one."""

    slots: Slots
    after: int
    first: int
    newest: int
    now: int

    @property
    def several(self) -> bool:
        return self.first < self.newest

    def row(self, low: int, high: int, reason: Reason) -> list[SlotsNotRun]:
        """One row for all slots in [low, high], or no row if there are none."""
        first, last = self.slots.after(low - 1), self.slots.at_or_before(high)
        if first is None or last is None or first > last:
            return []
        return [SlotsNotRun(first, last, self.slots.count(low - 1, high), reason)]


class Chosen(NamedTuple):
    """The slots that may run, oldest first, and rows for all others."""

    slots: tuple[int, ...]
    not_run: Sequence[SlotsNotRun]
    caught_up: bool


def due_slots(slots: Slots, after: int, now: int) -> tuple[Due | None, int | None]:
    """The due slots, if there are any, and the first slot that is not due yet."""
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
    due: Due, policy: CatchUp, window: Window | None, missed_until: int | None = None, *, once: bool
) -> Chosen:
    """Which of the due slots may run. The window is applied first: a slot that it excludes does not
    count as the newest. Slots before `missed_until` came due while no planner was alive."""
    skips = policy.policy is CatchUpPolicy.SKIP and not once
    if skips and missed_until is not None and due.first < missed_until:
        return _without_missed(due, policy, window, missed_until)
    is_missed = missed_until is not None and due.newest < missed_until
    late = is_missed or due.now - due.newest > policy.grace
    if once or not (late or due.several):
        reason = None if window is None else window_reason(window, due.newest)
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
    """For `skip`: slots that came due while no planner was alive do not run."""
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
    """The newest slots that the window admits, newest first; rows for the slots among them that it
    excludes; and the instant up to which all other slots lie."""
    kept: list[int] = []
    not_run: list[SlotsNotRun] = []
    rest_until = due.newest
    for first, last, reason in spans(due.slots, window, oldest, due.newest, kept_max):
        if reason is not None:
            not_run += due.row(first, last, reason)
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
    runs_all = policy.policy is CatchUpPolicy.RUN_ALL
    return Reason.MAX_CATCH_UP_RUNS if runs_all else Reason.COALESCED


def _age_reason(policy: CatchUp) -> Reason:
    return Reason.GRACE if policy.policy is CatchUpPolicy.SKIP else Reason.CATCH_UP_WINDOW
