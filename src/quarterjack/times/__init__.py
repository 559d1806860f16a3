"""WHEN. Which instants does a recurrence name? Pure: values and instants in, values out.

Read from the bottom up: `instants` (integers), `tzif` and `zones` (offsets), `days` and `walls`
(what a calendar and a clock show), `slots` (walls become instants: the daylight saving rules, and
the integer core that the engine uses). Then the recurrences: `recurrence` (their common face),
`cron` with `cron_text`, `cron_items` and `fields`, `patterns`, `every` with `durations`, `once`;
and `parse` (any spelling), `describe` (English), `advice` (warnings). Beside them stand `windows`
and `jitter`; `lazily` keeps what was worked out once.

Promised: the same answer on every machine for one edition of the zone data; nothing but
`InvalidRecurrence` for bad input; no search longer than the years 1 to 9999.
"""

from quarterjack.times.advice import warnings
from quarterjack.times.cron import Cron
from quarterjack.times.every import Every
from quarterjack.times.jitter import jitter_of
from quarterjack.times.once import After, At
from quarterjack.times.parse import parse
from quarterjack.times.patterns import Daily, Hourly, Monthly, Weekday, Weekly
from quarterjack.times.recurrence import Recurrence
from quarterjack.times.slots import Slots, slots_between
from quarterjack.times.windows import Window
from quarterjack.times.zones import zone, zone_data_version

__all__ = [
    "After",
    "At",
    "Cron",
    "Daily",
    "Every",
    "Hourly",
    "Monthly",
    "Recurrence",
    "Slots",
    "Weekday",
    "Weekly",
    "Window",
    "jitter_of",
    "parse",
    "slots_between",
    "warnings",
    "zone",
    "zone_data_version",
]
