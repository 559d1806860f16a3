"""Service limits: what all schedules of a store share, by the names of the fifth seed.

Planning is paced (`max_dispatch_per_tick` schedules a second); after an outage at most
`max_catchup_runs` recurring schedules are caught up, `catchup_stagger_ms` apart. One-shots are
never dropped: those beyond follow at the same stagger. Both budgets are values that the store
keeps in one row, so there is one of each, however many nodes plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterjack.errors import Conflict, InvalidSpecification, Problems
from quarterjack.times.instants import MILLISECOND, SECOND
from quarterjack.times.reading import read_whole_number


class Limits(NamedTuple):
    """0 is unlimited."""

    max_scheduled_jobs: int = 0
    max_dispatch_per_tick: int = 0
    max_catchup_runs: int = 0
    catchup_stagger_ms: int = 0
    timer_clamp_ms: int = 60_000
    max_consecutive_errors: int | None = None
    """The default for schedules; None leaves it to their presets."""

    @property
    def are_shared(self) -> bool:
        """Is something given out to all planners together?"""
        return bool(self.max_dispatch_per_tick or self.max_catchup_runs)

    @property
    def stagger_keeps_pace(self) -> bool:
        """Are those who are caught up no more in a second than may be dispatched?"""
        return self.catchup_stagger_ms * self.max_dispatch_per_tick >= 1000


_BOUNDS = {
    "max_scheduled_jobs": (0, 10_000_000),
    "max_dispatch_per_tick": (0, 1_000_000),
    "max_catchup_runs": (0, 1_000_000),
    "catchup_stagger_ms": (0, 86_400_000),
    "timer_clamp_ms": (1_000, 60_000),
    "max_consecutive_errors": (0, 1_000_000),
}


_SECONDS_APART = 10
"""By how much the clocks of two nodes may differ; more than that, and the clock was set."""


class Outage(NamedTuple):
    """Nobody planned in (since, until]. The next schedule to be caught up may start then; so many
    of those before it recur."""

    since: int
    until: int
    next_ready_at: int = 0
    recurring: int = 0

    def covers(self, slot: int) -> bool:
        """What is still undecided now, and came due before planning went on, was missed."""
        return slot <= self.until

    def has_room(self, limits: Limits) -> bool:
        """May one more recurring schedule be caught up?"""
        return not limits.max_catchup_runs or self.recurring < limits.max_catchup_runs

    def ready_at(self, now: int) -> int:
        """When the next schedule to be caught up may start, though it be planned late."""
        return max(self.next_ready_at, now)

    def caught_up_one(self, limits: Limits, now: int, *, recurring: bool) -> Outage:
        after = self.ready_at(now) + limits.catchup_stagger_ms * MILLISECOND
        return self._replace(next_ready_at=after, recurring=self.recurring + recurring)


class Pace(NamedTuple):
    """How many schedules were dispatched in one second, and how many wait for a later one, so many
    in each."""

    second: int = 0
    dispatched: int = 0
    postponed: int = 0

    def at(self, now: int, limits: Limits) -> Pace:
        """In this second. A node whose clock is a little behind counts in the same one."""
        most, passed = limits.max_dispatch_per_tick, now // SECOND - self.second
        if not most or -_SECONDS_APART < passed <= 0:
            return self
        return Pace(now // SECOND, postponed=max(self.postponed - max(passed, 0) * most, 0))

    def dispatched_one(self) -> Pace:
        return self._replace(dispatched=self.dispatched + 1)

    def postponed_one(self) -> Pace:
        return self._replace(postponed=self.postponed + 1)

    def postpones_until(self, limits: Limits) -> int | None:
        """If this second is full: the second in which there is room, counting those in line."""
        most = limits.max_dispatch_per_tick
        if not most or self.dispatched < most:
            return None
        return (self.second + 1 + self.postponed // most) * SECOND


OUTAGE_AT_LEAST = 60 * SECOND
"""A shorter gap is a restart, not an outage."""
LOOK_NOTED_AFTER = 20 * SECOND
"""How old the note of the last look may become while nothing is due."""


def current_outage(
    known: Outage | None, last_look: int | None, limits: Limits, now: int
) -> Outage | None:
    """The outage that has to be caught up: a new one, or the last; none if nothing is rationed.
    Until a look is noted it is the same outage, whoever notices it, and has one budget."""
    if not limits.max_catchup_runs and not limits.catchup_stagger_ms:
        return None
    longest_gap = max(OUTAGE_AT_LEAST, 2 * limits.timer_clamp_ms * MILLISECOND)
    if known is not None and known.until > now + _SECONDS_APART * SECOND:
        known = None  # a clock was ahead when it was noticed
    noticed = noticed_outage(last_look, now, longest_gap)
    if noticed is None or known is None or known.since != noticed.since:
        return noticed or known
    return known._replace(until=noticed.until)


def noticed_outage(last_look: int | None, now: int, longest_gap: int) -> Outage | None:
    """An outage, if nobody looked at the store for longer than that. Nothing was missed before the
    first look ever."""
    if last_look is None or now - last_look <= longest_gap:
        return None
    return Outage(last_look, now)


def next_look(now: int, wake_at: int | None, limits: Limits) -> int:
    """When to look at the store again: at the next wake, but never later than the clamp."""
    latest = now + limits.timer_clamp_ms * MILLISECOND
    return latest if wake_at is None else min(max(wake_at, now), latest)


def refuse_beyond_limit(active: int, limits: Limits) -> None:
    """Is there room for one more active schedule?"""
    most = limits.max_scheduled_jobs
    if most and active >= most:
        remedy = "pause or delete one, or raise the limit"
        raise Conflict(f"{active} schedules are active and max_scheduled_jobs is {most}; {remedy}")


def read_limits(mapping: Mapping[str, Any], base: Limits = Limits()) -> Limits:  # noqa: B008
    """Limits as a person wrote them, over a base; all problems at once."""
    if not isinstance(mapping, Mapping):
        remedy = "write names and numbers"
        raise InvalidSpecification.because("limits", mapping, "is no mapping", remedy)
    problems = Problems(InvalidSpecification)
    read: dict[str, int] = {}
    for name, value in mapping.items():
        with problems:
            if name not in _BOUNDS:
                remedy = f"use {', '.join(_BOUNDS)}"
                raise InvalidSpecification.because(str(name), value, "is unknown", remedy)
            read[name] = read_whole_number(value, *_BOUNDS[name], name)
    problems.refuse_if_any("limits")
    return base._replace(**read)
