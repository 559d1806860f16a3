"""What a phrase says, before anything is made of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Moment(NamedTuple):
    """A day, with or without a time of day, or an instant. `day` is an ISO date, or `today`,
    `tomorrow`, or the number of a weekday."""

    day: str | int
    time: tuple[int, int, int] | None = None
    instant: str = ""


class Window(NamedTuple):
    """Minutes from midnight."""

    first: int
    last: int
    with_last: bool
    open_end: bool = False
    """Up to midnight, because no end was said."""

    @property
    def over_midnight(self) -> bool:
        return self.last < self.first and (self.last > 0 or self.with_last)


@dataclass
class Said:
    """What a phrase says; what is empty was not said."""

    text: str = ""
    """All of the phrase, for suggestions."""
    interval: list[tuple[int, str]] = field(default_factory=list)
    """(5, "m"): a count and its unit. (1, "d") is also that of `every day at`."""
    interval_place: tuple[int, int] = (0, 0)
    counts_from_start: bool = False
    """`every other day` needs a start."""
    repeats: bool = False
    """Whether "every", a plural or a range says so."""
    days_place: int | None = None
    days_end: int = 0
    days_in_span: bool = False
    """`every day from monday to friday`."""
    weekdays: list[int] = field(default_factory=list)
    nth: list[str] = field(default_factory=list)
    """As in cron: `5#3`, `1L`."""
    month_days: list[str] = field(default_factory=list)
    """As in cron: `15`, `L`, `1W`."""
    dates: list[tuple[int, int]] = field(default_factory=list)
    """(month, day)."""
    of_month: bool = False
    either: bool = False
    both: bool = False
    months: list[int] = field(default_factory=list)
    times: list[tuple[int, int, int]] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    """As in cron: the seconds, minutes and hours of `at minute 5 of every hour`."""
    window: Window | None = None
    no_weekdays: list[int] = field(default_factory=list)
    no_months: list[int] = field(default_factory=list)
    start: Moment | None = None
    end: Moment | None = None
    end_included: bool = True
    zone: str = ""
    once: Moment | None = None
    instants: list[str] = field(default_factory=list)
    """Those after the first: `once each at ... and ...`."""
    only_once: bool = False
    after: str = ""
    after_instant: str = ""
    from_completion: bool = False
    first_from_start: bool = False
    """`counted from its start, then from the end of each run`."""
    shorter_months: bool = False
    """`in shorter months on their last day`."""
