"""Service limits: what all schedules of a store share, by the names of the fifth seed.

Planning is paced (`max_dispatch_per_tick` schedules a second); after an outage at most
`max_catchup_runs` recurring schedules are caught up, `catchup_stagger_ms` apart. One-shots are
never dropped: those beyond follow at the same stagger. Both budgets are values that the store
keeps in one row, so there is one of each, however many nodes plan.

A limit that `limits:` or the preset of the service gives holds for all schedules together. One that
is not given is that of the preset `agent`, and holds for the schedules of that preset together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterjack.errors import Conflict, InvalidSpecification, Problems
from quarterjack.times.instants import MILLISECOND, SECOND
from quarterjack.times.reading import read_whole_number


class Limits(NamedTuple):
    """0 is unlimited, None is not given."""

    max_scheduled_jobs: int | None = None
    max_dispatch_per_tick: int | None = None
    max_catchup_runs: int | None = None
    catchup_stagger_ms: int | None = None
    timer_clamp_ms: int = 60_000
    max_consecutive_errors: int | None = None
    """The default for schedules; None leaves it to their presets."""

    def among_agents(self) -> Limits:
        """What holds among the schedules of the preset `agent`, beside what holds for all."""
        given = {name: 0 for name, value in self._asdict().items() if value is not None}
        return AGENT_LIMITS._replace(**given | {"timer_clamp_ms": self.timer_clamp_ms})

    @property
    def has_budgets(self) -> bool:
        """Is something given out to all planners together?"""
        return bool(self.max_dispatch_per_tick or self.max_catchup_runs or self.catchup_stagger_ms)

    def rations(self, *, is_agent: bool) -> bool:
        """Does a schedule take from a budget?"""
        return self.has_budgets or (is_agent and self.among_agents().has_budgets)

    @property
    def stagger(self) -> int:
        return (self.catchup_stagger_ms or 0) * MILLISECOND

    @property
    def stagger_keeps_pace(self) -> bool:
        """Are those who are caught up no more in a second than may be dispatched?"""
        return self.stagger * (self.max_dispatch_per_tick or 0) >= SECOND


AGENT_LIMITS = Limits(1000, 5, 5, 5000, 60_000, 10)
"""Those of the preset `agent`."""


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
    """No planner was alive, or none looked, from `since` until `until`. The next schedule to be
    caught up may start at `next_ready_at`; so many of those before it recur."""

    since: int
    until: int
    next_ready_at: int = 0
    recurring: int = 0

    def covers(self, slot: int) -> bool:
        """What is still undecided now, and came due before planning went on, was missed."""
        return slot < self.until

    def has_room(self, limits: Limits) -> bool:
        """May one more recurring schedule be caught up?"""
        return not limits.max_catchup_runs or self.recurring < limits.max_catchup_runs

    def ready_at(self, now: int) -> int:
        """When the next schedule to be caught up may start, though it be planned late."""
        return max(self.next_ready_at, now)

    def caught_up_one(self, limits: Limits, now: int, *, recurring: bool) -> Outage:
        after = self.next_ready_at
        if limits.stagger:
            after = self.ready_at(now) + limits.stagger
        return self._replace(next_ready_at=after, recurring=self.recurring + recurring)


class Pace(NamedTuple):
    """How many schedules were dispatched in one second, and how many wait for a later one, so many
    in each."""

    second: int = 0
    dispatched: int = 0
    postponed: int = 0

    def at(self, now: int, limits: Limits) -> Pace:
        """In this second. A node whose clock is a little behind counts in the same one."""
        most, not_run = limits.max_dispatch_per_tick, now // SECOND - self.second
        if not most or -_SECONDS_APART < not_run <= 0:
            return self
        return Pace(now // SECOND, postponed=max(self.postponed - max(not_run, 0) * most, 0))

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


class Budgets(NamedTuple):
    """What is used of the budgets of a group of schedules."""

    outage: Outage | None = None
    pace: Pace = Pace()


class Rations(NamedTuple):
    """The limits of a group of schedules, and what is used of them."""

    limits: Limits
    outage: Outage | None
    pace: Pace

    @property
    def has_room(self) -> bool:
        """May one more recurring schedule be caught up?"""
        return self.outage is None or self.outage.has_room(self.limits)

    def caught_up_one(self, ready_at: int, *, recurring: bool) -> Rations:
        if self.outage is None:
            return self
        outage = self.outage.caught_up_one(self.limits, ready_at, recurring=recurring)
        return self._replace(outage=outage)

    def postpones_until(self, now: int) -> int | None:
        """If this second is full: the second in which there is room."""
        return self.pace.at(now, self.limits).postpones_until(self.limits)

    def postponed_one(self, now: int) -> Rations:
        return self._replace(pace=self.pace.at(now, self.limits).postponed_one())

    def dispatched_one(self, now: int) -> Rations:
        if not self.limits.max_dispatch_per_tick:
            return self
        return self._replace(pace=self.pace.at(now, self.limits).dispatched_one())


GAP_AT_LEAST = 60 * SECOND
"""While a planner is alive, a shorter time between two looks is no outage."""
LOOK_NOTED_AFTER = 20 * SECOND
"""How old the note of the last look may become while nothing is due."""


def may_notice_outage(last_look: int | None, now: int) -> bool:
    """Whoever looks now must be the only one who does, for he may notice an outage."""
    return last_look is not None and not 0 <= now - last_look <= GAP_AT_LEAST


def current_outage(
    known: Outage | None, last_look: int | None, limits: Limits, now: int
) -> Outage | None:
    """The outage that has to be caught up: one that is noticed now, since nobody looked for too
    long, or the last one."""
    longest_gap = max(GAP_AT_LEAST, 2 * limits.timer_clamp_ms * MILLISECOND)
    known = _believed(known, now)
    noticed = noticed_outage(last_look, now, longest_gap)
    return known if noticed is None else _continued(known, noticed)


def noticed_outage(last_look: int | None, now: int, longest_gap: int) -> Outage | None:
    """An outage, if nobody looked at the store for longer than that. Nothing was missed before the
    first look ever."""
    if last_look is None or now - last_look <= longest_gap:
        return None
    return Outage(last_look, now)


def outage_at_start(known: Outage | None, last_look: int | None, now: int) -> Outage:
    """A planner starts while no other is alive: whatever is due and undecided was missed, however
    short that was."""
    return _continued(_believed(known, now), Outage(last_look or 0, now))


def _believed(known: Outage | None, now: int) -> Outage | None:
    """None, if the clock was ahead when it was noticed."""
    is_ahead = known is not None and known.until > now + _SECONDS_APART * SECOND
    return None if is_ahead else known


def _continued(known: Outage | None, noticed: Outage) -> Outage:
    """Until a look is noted it is the same outage, whoever notices it, and has one budget. What
    follows another one starts behind all that was caught up after that."""
    if known is None:
        return noticed
    if known.since != noticed.since:
        return noticed._replace(next_ready_at=known.next_ready_at)
    return known._replace(until=max(known.until, noticed.until))


def next_look(now: int, wake_at: int | None, limits: Limits) -> int:
    """When to look at the store again: at the next wake, but never later than the clamp."""
    latest = now + limits.timer_clamp_ms * MILLISECOND
    return latest if wake_at is None else min(max(wake_at, now), latest)


def active_max(limits: Limits, *, is_agent: bool) -> int:
    """How many schedules may be active: of all, if that is given, else of those that are like this
    one. 0 is any number."""
    if limits.max_scheduled_jobs is not None or not is_agent:
        return limits.max_scheduled_jobs or 0
    return limits.among_agents().max_scheduled_jobs or 0


def refuse_beyond_limit(active: int, limits: Limits, *, is_agent: bool) -> None:
    """Is there room for one more active schedule?"""
    most = active_max(limits, is_agent=is_agent)
    if most and active >= most:
        remedy = "pause or delete one, or raise the limit"
        among = "" if limits.max_scheduled_jobs is not None else ' of the preset "agent"'
        what = f"{active} schedules{among} are active"
        raise Conflict(f"{what} and max_scheduled_jobs is {most}; {remedy}")


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
