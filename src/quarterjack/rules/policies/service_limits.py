"""Service limits: what all schedules of a store share.

At most `max_dispatch_per_tick` schedules are planned in a second. After an outage at most
`max_catchup_runs` recurring schedules are caught up, `catchup_stagger_ms` apart; one-shots are
never dropped, and start at the same stagger. The store keeps the usage of both budgets in one row,
so they are shared by all nodes.

A limit that is set by `limits:` or by the preset of the service applies to all schedules together.
For a limit that is not set, the value of the preset `agent` applies among the schedules of that
preset.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterjack.errors import Conflict, InvalidSpecification, Problems
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.times.checks import check_integer
from quarterjack.times.instants import MILLISECOND, SECOND


class Limits(NamedTuple):
    """0 is unlimited, None is not set."""

    max_scheduled_jobs: int | None = None
    max_dispatch_per_tick: int | None = None
    max_catchup_runs: int | None = None
    catchup_stagger_ms: int | None = None
    timer_clamp_ms: int = 60_000
    max_consecutive_errors: int | None = None
    """The default for schedules; None leaves it to their presets."""

    def among_agents(self) -> Limits:
        """The limits that apply only among schedules of the preset `agent`."""
        given = {name: 0 for name, value in self._asdict().items() if value is not None}
        return AGENT_LIMITS._replace(**given | {"timer_clamp_ms": self.timer_clamp_ms})

    @property
    def has_budgets(self) -> bool:
        """Whether planners share a budget."""
        return bool(self.max_dispatch_per_tick or self.max_catchup_runs or self.catchup_stagger_ms)

    def uses_budgets(self, *, is_agent: bool) -> bool:
        """Whether planning such a schedule may use a shared budget."""
        return self.has_budgets or (is_agent and self.among_agents().has_budgets)

    @property
    def stagger(self) -> int:
        return (self.catchup_stagger_ms or 0) * MILLISECOND

    @property
    def stagger_keeps_rate(self) -> bool:
        """Whether the stagger alone keeps catch-up within `max_dispatch_per_tick`."""
        return self.stagger * (self.max_dispatch_per_tick or 0) >= SECOND


AGENT_LIMITS = Limits(1000, 5, 5, 5000, 60_000, 10)
"""The limits of the preset `agent`."""


_BOUNDS = {
    "max_scheduled_jobs": (0, 10_000_000),
    "max_dispatch_per_tick": (0, 1_000_000),
    "max_catchup_runs": (0, 1_000_000),
    "catchup_stagger_ms": (0, 86_400_000),
    "timer_clamp_ms": (1_000, 60_000),
    "max_consecutive_errors": (0, 1_000_000),
}


_CLOCK_DIFFERENCE_SECONDS = 10
"""How far the clocks of two nodes may differ. A larger difference means that a clock was set."""


class Outage(NamedTuple):
    """A time in which no planner was alive, or none ran a step, and the use of its catch-up budget:
    when the next caught-up schedule may start, and how many recurring ones were caught up."""

    since: int
    until: int
    next_ready_at: int = 0
    recurring: int = 0

    def covers(self, slot: int) -> bool:
        """Whether an undecided slot was missed: it came due before planning resumed."""
        return slot < self.until

    def ready_at(self, now: int) -> int:
        """When the next caught-up schedule may start: not before it is planned."""
        return max(self.next_ready_at, now)


class DispatchRate(NamedTuple):
    """How many schedules were dispatched in one second, and how many are postponed to the seconds
    after it."""

    second: int = 0
    dispatched: int = 0
    postponed: int = 0

    def at(self, now: int, limits: Limits) -> DispatchRate:
        """The counts for the second of `now`. A node whose clock is slightly behind counts in the
        second that was started before."""
        most, elapsed = limits.max_dispatch_per_tick, now // SECOND - self.second
        if not most or -_CLOCK_DIFFERENCE_SECONDS < elapsed <= 0:
            return self
        postponed = max(self.postponed - max(elapsed, 0) * most, 0)
        return DispatchRate(now // SECOND, postponed=postponed)

    def postpones_until(self, limits: Limits) -> int | None:
        """None if this second has room; else the first second with room after those postponed."""
        most = limits.max_dispatch_per_tick
        if not most or self.dispatched < most:
            return None
        return (self.second + 1 + self.postponed // most) * SECOND


class BudgetUsage(NamedTuple):
    """How much of its budgets a group of schedules has used."""

    outage: Outage | None = None
    dispatch_rate: DispatchRate = DispatchRate()


class Budget(NamedTuple):
    """The limits of a group of schedules, and how much of them is used."""

    limits: Limits
    outage: Outage | None
    dispatch_rate: DispatchRate

    @property
    def has_room(self) -> bool:
        """Whether one more recurring schedule may be caught up."""
        most = self.limits.max_catchup_runs
        return self.outage is None or not most or self.outage.recurring < most

    def caught_up_one(self, ready_at: int, *, recurring: bool) -> Budget:
        outage, stagger = self.outage, self.limits.stagger
        if outage is None:
            return self
        after = outage.ready_at(ready_at) + stagger if stagger else outage.next_ready_at
        used = outage._replace(next_ready_at=after, recurring=outage.recurring + recurring)
        return self._replace(outage=used)

    def postpones_until(self, now: int) -> int | None:
        """None if this second has room; else the first second with room."""
        return self.dispatch_rate.at(now, self.limits).postpones_until(self.limits)

    def postponed_one(self, now: int) -> Budget:
        rate = self.dispatch_rate.at(now, self.limits)
        return self._replace(dispatch_rate=rate._replace(postponed=rate.postponed + 1))

    def dispatched_one(self, now: int) -> Budget:
        if not self.limits.max_dispatch_per_tick:
            return self
        rate = self.dispatch_rate.at(now, self.limits)
        return self._replace(dispatch_rate=rate._replace(dispatched=rate.dispatched + 1))


OUTAGE_GAP_MIN = 60 * SECOND
"""While a planner is alive, a shorter time between two steps is not an outage."""
NOTE_STEP_EVERY = 20 * SECOND
"""How often a planner step that found nothing due is written to the store."""


def may_detect_outage(last_step_at: int | None, now: int) -> bool:
    """Whether a planner step may detect an outage. It must then lock the planner state, so that no
    other planner detects the same one."""
    return last_step_at is not None and not 0 <= now - last_step_at <= OUTAGE_GAP_MIN


def current_outage(
    known: Outage | None, last_step_at: int | None, limits: Limits, now: int
) -> Outage | None:
    """The outage to catch up after: one detected now, because the last planner step is too long
    ago, or else the last known one."""
    longest_gap = max(OUTAGE_GAP_MIN, 2 * limits.timer_clamp_ms * MILLISECOND)
    known = _unless_in_future(known, now)
    detected = detected_outage(last_step_at, now, longest_gap)
    return known if detected is None else _merged(known, detected)


def detected_outage(last_step_at: int | None, now: int, longest_gap: int) -> Outage | None:
    """An outage, if the last planner step was longer ago than that. Before the first step of all
    nothing can be missed."""
    if last_step_at is None or now - last_step_at <= longest_gap:
        return None
    return Outage(last_step_at, now)


def outage_at_start(known: Outage | None, last_step_at: int | None, now: int) -> Outage:
    """The outage that ends when a planner starts while no other is alive. It has no minimum length:
    whatever is due and undecided was missed."""
    return _merged(_unless_in_future(known, now), Outage(last_step_at or 0, now))


def _unless_in_future(known: Outage | None, now: int) -> Outage | None:
    """Ignores an outage that was detected by a clock that was ahead."""
    is_ahead = known is not None and known.until > now + _CLOCK_DIFFERENCE_SECONDS * SECOND
    return None if is_ahead else known


def _merged(known: Outage | None, detected: Outage) -> Outage:
    """Until a planner step is stored, it is the same outage whoever detects it, with one budget. A
    new outage starts its catch-up after that of the one before."""
    if known is None:
        return detected
    if known.since != detected.since:
        return detected._replace(next_ready_at=known.next_ready_at)
    return known._replace(until=max(known.until, detected.until))


def next_step_at(now: int, wake_at: int | None, limits: Limits) -> int:
    """When to check the store again: at the next wake, but at the latest after `timer_clamp_ms`."""
    latest = now + limits.timer_clamp_ms * MILLISECOND
    return latest if wake_at is None else min(max(wake_at, now), latest)


def active_max(limits: Limits, *, is_agent: bool) -> int:
    """How many schedules may be active: of all schedules if that limit is set, else of the preset
    `agent` for one of these. 0 is unlimited."""
    if limits.max_scheduled_jobs is not None or not is_agent:
        return limits.max_scheduled_jobs or 0
    return limits.among_agents().max_scheduled_jobs or 0


def refuse_beyond_limit(active: int, limits: Limits, *, is_agent: bool) -> None:
    """Refuses one more active schedule than `max_scheduled_jobs`."""
    most = active_max(limits, is_agent=is_agent)
    if most and active >= most:
        remedy = "pause or delete one, or raise the limit"
        among = "" if limits.max_scheduled_jobs is not None else ' of the preset "agent"'
        what = f"{active} schedules{among} are active"
        raise Conflict(f"{what} and max_scheduled_jobs is {most}; {remedy}")


def read_limits(mapping: Mapping[str, Any], base: Limits = Limits()) -> Limits:  # noqa: B008
    """Reads `limits:`, on top of `base`; raises all problems at once."""
    if not isinstance(mapping, Mapping):
        raise invalid("limits", mapping, "is not a mapping", "write names and numbers")
    problems = Problems(InvalidSpecification)
    read: dict[str, int] = {}
    for name, value in mapping.items():
        with problems:
            if name not in _BOUNDS:
                raise invalid(str(name), value, "is unknown", f"use {', '.join(_BOUNDS)}")
            read[name] = check_integer(value, *_BOUNDS[name], name)
    problems.raise_if_any("limits")
    return base._replace(**read)
