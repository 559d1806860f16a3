"""The oracle: a second, slow implementation of definitions, from the documentation alone.

Slots come from the walk over real minutes (`tests/harness/times/walk.py`); only far from any change
of offset, days are walked instead. Nothing of `quarterjack` is imported here.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from harness.times import walk

SECOND, MINUTE, HOUR, DAY = 10**6, 60 * 10**6, 3600 * 10**6, 86400 * 10**6
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
AROUND = timedelta(days=2)

GENERAL: Mapping[str, Any] = {
    "timezone": "UTC", "dst_gap": "after", "dst_fold": "once", "anchor": "slot",
    "only_between": None, "not_on": [], "on_constraint": "drop", "jitter": None,
    "catch_up": "run_once", "grace": "60s", "catch_up_window": None, "max_catch_up_runs": 100,
    "if_running": "skip", "queue_limit": 1000, "max_retries": 0, "retry_delay": None,
    "retry_backoff": "exponential", "slot_preempts_retry": False, "on_exhausted": "continue",
    "circuit_breaker": "off", "max_consecutive_errors": 0, "total_repeats": 0, "timeout": "600s",
    "execution": "at_least_once", "first_run": "slot", "delete_after_run": False, "enabled": True,
}  # fmt: skip
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "ductile": {
        "catch_up": "skip", "circuit_breaker": {"threshold": 3, "reset_after": "30m"},
        "timeout": "60s",
    },
    "pipelit": {"max_retries": 3, "on_exhausted": "dead", "anchor": "completion"},
    "horsies": {"if_running": "allow", "timeout": "none", "dst_gap": "skip"},
    "agent": {"max_consecutive_errors": 10},
}  # fmt: skip
BY_TARGET = {"plugin": "ductile", "workflow_id": "pipelit", "prompt": "agent"}
TARGETS = ("task", "plugin", "command", "prompt", "workflow_id", "target")
RECURRENCE_FIELDS = (
    "cron",
    "every",
    "interval_seconds",
    "at",
    "after",
    "hourly",
    "daily",
    "weekly",
    "monthly",
    "schedule",
)
WORDS = {
    "every monday at 2am": ["0 2 * * 1"],
    "every day at 2:30am": ["30 2 * * *"],
    "every weekday at 02:00 and 14:30": ["0 2 * * 1-5", "30 14 * * 1-5"],
    "at 2am on the last friday of the month": ["0 2 * * 5L"],
    "daily at midnight and noon": ["0 0,12 * * *"],
    "on the first business day of the month at 03:00": ["0 3 1W * *"],
    "hourly at minute 30": ["30 * * * *"],
    "every 30 minutes between 9am and 5pm on weekdays": ["*/30 9-16 * * 1-5"],
    "every sunday at 01:30": ["30 1 * * 0"],
    "every weekend at 2:30 am": ["30 2 * * 0,6"],
    "Monday to Friday at 02:00": ["0 2 * * 1-5"],
    "every day except sunday at 01:30 and 02:30": ["30 1,2 * * 1-6"],
    "on the 1st and 15th of the month at noon": ["0 12 1,15 * *"],
    "quarterly on the last day at 2am": ["0 2 L 3,6,9,12 *"],
    "every december 24 at 6pm": ["0 18 24 12 *"],
    "every day from june to november at 3am": ["0 3 * 6-11 *"],
    "on every 3rd day from 1st to 31st of the month at 02:00": ["0 2 1-31/3 * *"],
    "on day 13 of the month, when that is friday, at 02:00": ["0 2 */12 * 5#2"],
    "on day 1 of the month or every monday at 02:30": ["30 2 1 * 1"],
    "every 2 hours from 00:30": ["30 */2 * * *"],
    "every 20 minutes of every hour": ["*/20 * * * *"],
    "every 20 minutes between 10pm and 2am": ["*/20 0,1,22,23 * * *"],
    "at minutes 1, 3, 5 and so on to 59 of every hour": ["1-59/2 * * * *"],
    "every monday at 2am and every friday at 02:30": ["0 2 * * 1", "30 2 * * 5"],
    "every 15 minutes from 1am to 3am on weekdays": ["*/15 1,2 * * 1-5", "0 3 * * 1-5"],
}
"""What the phrases of the simulation mean, by hand."""
INTERVAL_WORDS = {
    "every 30 minutes": "30m",
    "every 1 hour and 30 minutes": "90m",
    "every day": "1d",
}
CRON_OPTIONS = ("dialect", "seconds", "day_rule")
WINDOW = ("only_between", "not_on", "on_constraint")
INTERVALS = {"hourly": (HOUR, None), "daily": (0, 1), "weekly": (0, 7), "monthly": (0, 0)}
UNITS = {"ms": 1000, "s": SECOND, "m": MINUTE, "h": HOUR}


def instant_of(text: Any) -> int:
    """From RFC 3339 or milliseconds."""
    if isinstance(text, int):
        return text * 1000
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def duration_of(text: str) -> int:
    found = re.findall(r"(\d+) ?(ms|d|s|m|h)", text)
    return sum(int(number) * (DAY if unit == "d" else UNITS[unit]) for number, unit in found)


def interval_of(value: Any) -> tuple[int, int | None]:
    """(microseconds, None) for elapsed time; (0, days) for calendar time; (0, 0) is a month."""
    if value in INTERVALS:
        return INTERVALS[value]
    if found := re.fullmatch(r"(\d+)([dw])", value):
        return 0, int(found[1]) * (7 if found[2] == "w" else 1)
    if found := re.fullmatch(r"P(\d+)D", value):
        return 0, int(found[1])
    if found := re.fullmatch(r"PT(\d+)M", value):
        return int(found[1]) * MINUTE, None
    return duration_of(value), None


class Definition:
    """The fields that a user gave, with the defaults of presets."""

    def __init__(self, given: Mapping[str, Any], errors_max: int | None = None) -> None:
        self.given = {name: value for name, value in given.items() if value is not None}
        self._errors_max = errors_max
        target = next((name for name in TARGETS if name in self.given), "task")
        preset = self.given.get("preset", BY_TARGET.get(target))
        defaults: dict[str, Any] = dict(PRESETS[preset]) if preset else {}
        if errors_max is not None and preset in (None, "agent"):
            defaults["max_consecutive_errors"] = errors_max
        self.own_preset = self.given.get("preset")
        self.fields = {**GENERAL, **defaults, **self.given}
        self.recurrence_field = next(name for name in RECURRENCE_FIELDS if name in self.given)

    def __getitem__(self, name: str) -> Any:
        return self.fields[name]

    def patched(self, changes: Mapping[str, Any]) -> Definition:
        """With some fields changed. Defaults that were filled in at creation stay."""
        body = {name: value for name, value in self.fields.items() if name != "preset"}
        if any(changes.get(name) is not None for name in RECURRENCE_FIELDS):
            removed = (
                *RECURRENCE_FIELDS,
                *CRON_OPTIONS,
                "anchor",
                "first_run",
                "start_at",
                "end_at",
            )
            body = {name: value for name, value in body.items() if name not in removed}
            body["anchor"] = self._anchor_default()
            if self.interval is not None and ("every" in changes or "interval_seconds" in changes):
                body["anchor"] = self.fields["anchor"]
        if any(name in changes for name in TARGETS):
            body = {
                name: value for name, value in body.items() if name not in (*TARGETS, "command")
            }
        patched = Definition.__new__(Definition)
        patched._errors_max = self._errors_max
        merged = body | {name: value for name, value in changes.items() if value is not None}
        for name in (name for name, value in changes.items() if value is None):
            merged.pop(name, None)
        patched.given = merged
        patched.own_preset = self.own_preset
        patched.fields = {**GENERAL, **merged}
        patched.recurrence_field = next(name for name in RECURRENCE_FIELDS if name in merged)
        return patched

    def _anchor_default(self) -> str:
        target = next((name for name in TARGETS if name in self.given), "task")
        defaults = PRESETS.get(self.own_preset or BY_TARGET.get(target, ""), {})
        return str(defaults.get("anchor", "slot"))

    @property
    def is_agent(self) -> bool:
        """Whether its preset is `agent`, by its own field or by its target."""
        return (self.own_preset or ("agent" if "prompt" in self.given else None)) == "agent"

    @property
    def is_one_shot(self) -> bool:
        return self.recurrence_field in ("at", "after") and not isinstance(
            self.fields.get("at"), list
        )

    @property
    def names_instants(self) -> bool:
        return self.recurrence_field in ("at", "after")

    @property
    def crons(self) -> list[str]:
        """The expressions whose slots it has."""
        if self.recurrence_field == "schedule":
            return WORDS[self["schedule"]]
        cron = self["cron"]
        return cron if isinstance(cron, list) else [cron]

    @property
    def interval(self) -> tuple[int, int | None] | None:
        if self.recurrence_field == "interval_seconds":
            return self["interval_seconds"] * SECOND, None
        if self.recurrence_field == "schedule":
            words = INTERVAL_WORDS.get(self["schedule"])
            return interval_of(words) if words else None
        return interval_of(self["every"]) if self.recurrence_field == "every" else None

    @property
    def counts_from_completion(self) -> bool:
        return self.interval is not None and self["anchor"] == "completion"

    def follows(self, slot: int, anchors: set[int]) -> bool:
        """Whether it is one interval after one of these."""
        assert self.interval is not None
        elapsed, days = self.interval
        if days is None:
            return slot - elapsed in anchors
        near = [each for each in anchors if 0 < slot - each < ((days or 31) + 2) * DAY]
        return any(slot in self._calendar(each, days, 1).between(slot, slot + 1) for each in near)

    @property
    def starts_at(self) -> int | None:
        return instant_of(self.fields["start_at"]) if "start_at" in self.fields else None

    @property
    def counts_from_resume(self) -> bool:
        return self.interval is not None and (
            self.counts_from_completion or "start_at" not in self.fields
        )

    def retry_delay(self, failures: int) -> int:
        """From the end of this failure until the next attempt is ready."""
        delay = 30 * SECOND
        if self["retry_delay"] is not None:
            delay = duration_of(self["retry_delay"])
        elif self.interval is not None:
            elapsed, days = self.interval
            delay = elapsed if days is None else (days or 30) * DAY
        return delay if self["retry_backoff"] == "fixed" else delay * min(2 ** (failures - 1), 10)

    def plugin_command(self) -> str | None:
        if "plugin" not in self.given:
            return None
        command = self.given.get("command", "poll")
        return f"{self.given['plugin']}/{command if isinstance(command, str) else 'poll'}"

    def scope(self, schedule_id: int) -> str:
        return self.plugin_command() or str(schedule_id)

    def gate(self, schedule_id: int) -> str | None:
        breaker = self["circuit_breaker"]
        if breaker == "off":
            return None
        return breaker.get("name") or self.plugin_command() or f"schedule/{schedule_id}"

    def identity_of_slots(self) -> tuple[Any, ...]:
        """Equal for two definitions with the same slots and the same window."""
        interval = self.interval
        named: tuple[Any, ...] = (self.recurrence_field, str(self[self.recurrence_field]))
        if interval is not None:
            named = interval
        elif self.recurrence_field in ("cron", "schedule"):
            named = ("cron", self.fields.get("day_rule", "or"), *self.crons)
        bounds = tuple(
            instant_of(self.fields[name]) if name in self.fields else None
            for name in ("start_at", "end_at")
        )
        if self.is_one_shot:
            value = self[self.recurrence_field]
            return (instant_of(value) if self.recurrence_field == "at" else duration_of(value),)
        zone = (str(self["timezone"]), self["dst_gap"], self["dst_fold"])
        dialect = self.fields.get("dialect", "standard")
        window = tuple(str(self[name]) for name in WINDOW)
        return (named, bounds, zone, self.counts_from_completion, dialect, window)

    def next_day(self, slot: int) -> int:
        """The same wall time on the next day that the window admits."""
        zone = walk.zone(self["timezone"])
        wall = (EPOCH + timedelta(microseconds=slot)).astimezone(zone).replace(fold=0)
        for day in range(1, 400):
            if self.window_refusal(slot) is None:
                break
            later = (wall.replace(tzinfo=None) + timedelta(days=day)).replace(tzinfo=zone)
            found = later.astimezone(UTC)
            if found.astimezone(zone).replace(tzinfo=None) != later.replace(tzinfo=None):
                around = timedelta(hours=12)  # it does not exist: at the end of the gap
                found = walk.change_between(found - around, found + around, zone)
            slot = (found - EPOCH) // timedelta(microseconds=1)
        return slot

    def window_refusal(self, slot: int) -> str | None:
        """The constraint of the window that rejects this slot."""
        wall = (EPOCH + timedelta(microseconds=slot)).astimezone(walk.zone(self["timezone"]))
        if self["only_between"] is not None:
            start, end = (
                int(part[:2]) * 60 + int(part[3:]) for part in self["only_between"].split("-")
            )
            minute = wall.hour * 60 + wall.minute
            inside = start <= minute < end if start < end else minute >= start or minute < end
            if not inside:
                return "only_between"
        for each in self["not_on"]:
            if isinstance(each, int):
                hit = each % 7 == (wall.weekday() + 1) % 7
            elif each[0].isdigit():
                hit = wall.date().isoformat() == each
            else:
                hit = calendar.day_name[wall.weekday()].lower() == each
            if hit:
                return "not_on"
        return None

    def slots(self, anchor: int, created_at: int, low: int, high: int) -> list[int]:
        """Those in (low, high]; an interval counts from the anchor."""
        if high <= low:
            return []
        found = self._unbounded(anchor, low, high)
        if self["first_run"] == "now" and low < created_at <= high:
            found = sorted({*found, created_at})
        start, end = (self.fields.get(name) for name in ("start_at", "end_at"))
        if start is not None:
            found = [slot for slot in found if slot >= instant_of(start) or slot == created_at]
        if end is not None:
            found = [slot for slot in found if slot <= instant_of(end)]
        return found

    def _unbounded(self, anchor: int, low: int, high: int) -> list[int]:
        if self.is_one_shot:
            slot = instant_of(self["at"]) if self.recurrence_field == "at" else None
            slot = anchor + duration_of(self["after"]) if slot is None else slot
            return [slot] if low < slot <= high else []
        if self.names_instants:
            return sorted({slot for slot in map(instant_of, self["at"]) if low < slot <= high})
        interval = self.interval
        if interval is None:
            found = (within(times, low, high) for times in self._wall_times())
            return sorted({slot for slots in found for slot in slots})
        start = self.fields.get("start_at")
        base = anchor if start is None else instant_of(start)
        first = 1 if start is None else 0
        elapsed, days = interval
        if days is None:
            k = max(first, (low - base) // elapsed + 1)
            return list(range(base + k * elapsed, high + 1, elapsed))
        return within(self._calendar(base, days, first), low, high)

    def _wall_times(self) -> list[WallTimes]:
        if self.recurrence_field in ("cron", "schedule"):
            return [self._of_cron(text) for text in self.crons]
        return [self._of_pattern()]

    def _of_cron(self, text: str) -> WallTimes:
        text = {"@daily": "0 0 * * *"}.get(text, text)
        if self.fields.get("seconds"):
            return EverySeconds(int(text.split()[0][2:]))
        cron = walk.CronText(text, self.fields.get("day_rule", "or"))
        minutes = sorted(h * 60 + m for h in cron.hours for m in cron.minutes)
        zone, gap, fold = self["timezone"], self["dst_gap"], self["dst_fold"]
        return WallTimes(zone, cron.matches_day, tuple(minutes), cron.real_time, gap, fold)

    def _of_pattern(self) -> WallTimes:
        zone, gap, fold = self["timezone"], self["dst_gap"], self["dst_fold"]
        pattern = self[self.recurrence_field]
        if self.recurrence_field == "hourly":
            minutes = [h * 60 + pattern["minute"] for h in range(24)]
            return WallTimes(zone, lambda _: True, tuple(minutes), True, gap, fold)
        minute = int(pattern["time"][:2]) * 60 + int(pattern["time"][3:])
        matches: Callable[[date], bool] = lambda _: True  # noqa: E731
        if self.recurrence_field == "weekly":
            days = pattern["days"]
            matches = lambda day: calendar.day_name[day.weekday()].lower() in days  # noqa: E731
        if self.recurrence_field == "monthly":
            matches = lambda day: day.day == pattern["day"]  # noqa: E731
        return WallTimes(zone, matches, (minute,), False, gap, fold)

    def _calendar(self, base: int, days: int, first: int) -> WallTimes:
        """The same wall time every so many days; 0 is monthly."""
        zone = self["timezone"]
        wall = (EPOCH + timedelta(microseconds=base)).astimezone(walk.zone(zone))
        minute = wall.hour * 60 + wall.minute
        offset = wall.second * SECOND + wall.microsecond
        anchor = wall.date()

        def matches(day: date) -> bool:
            if day < anchor or (day == anchor and first):
                return False
            if days:
                return (day - anchor).days % days == 0
            last = calendar.monthrange(day.year, day.month)[1]
            return day.day == min(anchor.day, last)

        return WallTimes(zone, matches, (minute,), False, self["dst_gap"], self["dst_fold"], offset)


class WallTimes:
    """The slots of minutes of the day, on matching days, in a zone."""

    def __init__(
        self,
        zone: str,
        matches: Callable[[date], bool],
        minutes: tuple[int, ...],
        real_time: bool,
        gap: str,
        fold: str,
        offset: int = 0,
    ) -> None:
        self.zone, self.matches, self.minutes = zone, matches, minutes
        self.real_time, self.gap, self.fold = real_time, gap, fold
        self.offset = offset
        """Within the minute."""

    def between(self, low: int, high: int) -> list[int]:
        """Those in [low, high)."""
        found: list[int] = []
        for start, end, is_regular in stretches(self.zone, low, high):
            found += self._by_days(start, end) if is_regular else self._by_minutes(start, end)
        return [slot for slot in found if low <= slot < high]

    def _by_days(self, start: int, end: int) -> list[int]:
        """The offset is constant."""
        first = EPOCH + timedelta(microseconds=start)
        offset = walk.offset(first, walk.zone(self.zone)) // timedelta(microseconds=1)
        found, day = [], (start + offset) // DAY
        while day * DAY - offset < end:
            if self.matches(date.fromordinal(EPOCH.toordinal() + day)):
                base = day * DAY - offset + self.offset
                found += [base + minute * MINUTE for minute in self.minutes]
            day += 1
        return [slot for slot in found if start <= slot < end]

    def _by_minutes(self, start: int, end: int) -> list[int]:
        minutes = set(self.minutes)

        def matches(wall: datetime) -> bool:
            return wall.hour * 60 + wall.minute in minutes and self.matches(wall.date())

        found = []
        for step in walked(self.zone, start, end):
            instant = (step.instant - EPOCH) // timedelta(microseconds=1)
            on_time = matches(step.wall)
            if self.real_time:
                found += [instant] if on_time else []
                continue
            is_moved = self.gap == "after" and any(matches(wall) for wall in step.skipped)
            if is_moved:
                found.append(instant)
            if on_time and not (step.is_repeated and self.fold == "once"):
                found += [] if is_moved and not self.offset else [instant + self.offset]
        return [slot for slot in found if start <= slot < end]


class EverySeconds(WallTimes):
    """Every n-th second of each minute; all offsets here are whole minutes."""

    def __init__(self, every: int) -> None:
        self.every = every * SECOND

    def between(self, low: int, high: int) -> list[int]:
        first = -(-low // self.every) * self.every
        return list(range(first, high, self.every))


def within(times: WallTimes, low: int, high: int) -> list[int]:
    """In (low, high]."""
    return times.between(low + 1, high + 1)


@lru_cache(maxsize=64)
def _changes(zone: str) -> tuple[int, ...]:
    found = walk.changes(zone, 2025, 2029)
    return tuple((each - EPOCH) // timedelta(microseconds=1) for each in found)


def stretches(zone: str, low: int, high: int) -> list[tuple[int, int, bool]]:
    """Parts of [low, high): (start, end, whether it is far from any change of offset)."""
    around = AROUND // timedelta(microseconds=1)
    near = [(change - around, change + around) for change in _changes(zone)]
    merged: list[list[int]] = []
    for start, end in near:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = end
        else:
            merged.append([start, end])
    parts, position = [], low
    for near_from, near_until in merged:
        start, end = max(near_from, low), min(near_until, high)
        if start < end:
            parts += [(position, start, True)] if position < start else []
            parts.append((start, end, False))
            position = end
    return [*parts, (position, high, True)] if position < high else parts


def walked(zone: str, start: int, end: int) -> Sequence[walk.Step]:
    """The real minutes of a stretch, cached by the changes of offset in it."""
    around = AROUND // timedelta(microseconds=1)
    changes = _changes(zone)
    first = bisect_left(changes, start - around)
    last = bisect_right(changes, end + around)
    return _walked(zone, changes[first] - around, changes[last - 1] + around)


@lru_cache(maxsize=64)
def _walked(zone: str, start: int, end: int) -> Sequence[walk.Step]:
    begin = EPOCH + timedelta(microseconds=start - start % MINUTE)
    return walk.steps(zone, begin, EPOCH + timedelta(microseconds=end))
