"""Recurrences: which instants does a schedule name? Pure functions and values, no clock.

Read from the bottom up: `instants` (integer timestamps), `tzif` and `zones` (UTC offsets), `days`
with `months`, and `wall_times` (dates and times of day without a zone), `slots` (wall times become
instants: the daylight saving rules, and the integer API that the engine uses). Then the
recurrences: `recurrence` (base classes), `cron` with `cron_text`, `cron_items` and `fields`,
`patterns` (Hourly to Monthly), `every` with `durations`, `once` (At, After), `union` of several
with `merged_slots` and `merged_times`; and `parse` (text and mappings), `words` (from English),
`describe` (to English), `advice` (warnings). `windows` and
`jitter` apply to the slots of a recurrence; `checks` and `cached_property` are shared.

Promised: the same result on every machine for one version of the zone data; only
`InvalidRecurrence` for bad input; no search beyond the years 1 to 9999.
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
from quarterjack.times.union import Union, union_of
from quarterjack.times.windows import Window
from quarterjack.times.zones import zone, zone_data_version
