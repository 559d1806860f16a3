"""The oracle: what a definition means, told the slow way, from the words of the documentation.

Slots come from the walk over real minutes (`tests/harness/times/walk.py`); only on days far from
any change of offset, where walls simply follow each other, days are walked instead. Nothing of
`quarterjack` is imported here.
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
NAMING = (
    "cron",
    "every",
    "interval_seconds",
    "at",
    "after",
    "hourly",
    "daily",
    "weekly",
    "monthly",
)
BESIDE_CRON = ("dialect", "seconds")
WINDOW = ("only_between", "not_on", "on_constraint")
INTERVALS = {"hourly": (HOUR, None), "daily": (0, 1), "weekly": (0, 7), "monthly": (0, 0)}
UNITS = {"ms": 1000, "s": SECOND, "m": MINUTE, "h": HOUR}


def instant_of(text: Any) -> int:
    """RFC 3339, or milliseconds."""
    if isinstance(text, int):
        return text * 1000
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def duration_of(text: str) -> int:
    found = re.findall(r"(\d+)(ms|d|s|m|h)", text)
    return sum(int(number) * (DAY if unit == "d" else UNITS[unit]) for number, unit in found)


def interval_of(said: Any) -> tuple[int, int | None]:
    """(microseconds, None) for elapsed time; (0, days) for calendar time; (0, 0) is a month."""
    if isinstance(said, int):
        return said * 1000, None
    if said in INTERVALS:
        return INTERVALS[said]
    if found := re.fullmatch(r"(\d+)([dw])", said):
        return 0, int(found[1]) * (7 if found[2] == "w" else 1)
    if found := re.fullmatch(r"P(\d+)D", said):
        return 0, int(found[1])
    if found := re.fullmatch(r"PT(\d+)M", said):
        return int(found[1]) * MINUTE, None
    return duration_of(said), None


class Definition:
    """What a person wrote, with what holds where nothing was said."""

    def __init__(self, said: Mapping[str, Any], limits_errors: int | None = None) -> None:
        self.said = {name: value for name, value in said.items() if value is not None}
        self._errors = limits_errors
        target = next((name for name in TARGETS if name in self.said), "task")
        preset = self.said.get("preset", BY_TARGET.get(target))
        layer: dict[str, Any] = dict(PRESETS[preset]) if preset else {}
        if limits_errors is not None and preset in (None, "agent"):
            layer["max_consecutive_errors"] = limits_errors
        self.own_preset = self.said.get("preset")
        self.whole = {**GENERAL, **layer, **self.said}
        self.naming = next(name for name in NAMING if name in self.said)

    def __getitem__(self, name: str) -> Any:
        return self.whole[name]

    def patched(self, changes: Mapping[str, Any]) -> Definition:
        """With some fields said anew. What was filled in when it was created stays as it was."""
        body = {name: value for name, value in self.whole.items() if name != "preset"}
        if any(changes.get(name) is not None for name in NAMING):
            gone = (*NAMING, *BESIDE_CRON, "anchor", "first_run", "start_at", "end_at")
            body = {name: value for name, value in body.items() if name not in gone}
            body["anchor"] = self._anchor_default()
            if self.interval is not None and ("every" in changes or "interval_seconds" in changes):
                body["anchor"] = self.whole["anchor"]
        if any(name in changes for name in TARGETS):
            body = {
                name: value for name, value in body.items() if name not in (*TARGETS, "command")
            }
        patched = Definition.__new__(Definition)
        patched._errors = self._errors
        merged = body | {name: value for name, value in changes.items() if value is not None}
        for name in (name for name, value in changes.items() if value is None):
            merged.pop(name, None)
        patched.said = merged
        patched.own_preset = self.own_preset
        patched.whole = {**GENERAL, **merged}
        patched.naming = next(name for name in NAMING if name in merged)
        return patched

    def _anchor_default(self) -> str:
        target = next((name for name in TARGETS if name in self.said), "task")
        layer = PRESETS.get(self.own_preset or BY_TARGET.get(target, ""), {})
        return str(layer.get("anchor", "slot"))

    @property
    def is_agent(self) -> bool:
        """Of the preset of that name, which is its own or comes with what it calls."""
        own = self.own_preset or ("agent" if "prompt" in self.said else None)
        return own == "agent"

    @property
    def once(self) -> bool:
        return self.naming in ("at", "after")

    @property
    def interval(self) -> tuple[int, int | None] | None:
        if self.naming == "interval_seconds":
            return self["interval_seconds"] * SECOND, None
        return interval_of(self["every"]) if self.naming == "every" else None

    @property
    def completion(self) -> bool:
        return self.interval is not None and self["anchor"] == "completion"

    def follows(self, slot: int, anchors: set[int]) -> bool:
        """Is it one interval after one of these?"""
        assert self.interval is not None
        elapsed, days = self.interval
        if days is None:
            return slot - elapsed in anchors
        near = [each for each in anchors if 0 < slot - each < ((days or 31) + 2) * DAY]
        return any(slot in self._calendar(each, days, 1).between(slot, slot + 1) for each in near)

    @property
    def starts_at(self) -> int | None:
        return instant_of(self.whole["start_at"]) if "start_at" in self.whole else None

    @property
    def counts_anew(self) -> bool:
        """From a resume on."""
        return self.interval is not None and (self.completion or "start_at" not in self.whole)

    def retry_wait(self, failures: int) -> int:
        """From the end of a failure, that of this number, until the next attempt is ready."""
        delay = 30 * SECOND
        if self["retry_delay"] is not None:
            delay = duration_of(self["retry_delay"])
        elif self.interval is not None:
            elapsed, days = self.interval
            delay = elapsed if days is None else (days or 30) * DAY
        return delay if self["retry_backoff"] == "fixed" else delay * min(2 ** (failures - 1), 10)

    def plugin_command(self) -> str | None:
        if "plugin" not in self.said:
            return None
        command = self.said.get("command", "poll")
        return f"{self.said['plugin']}/{command if isinstance(command, str) else 'poll'}"

    def scope(self, schedule_id: int) -> str:
        return self.plugin_command() or str(schedule_id)

    def gate(self, schedule_id: int) -> str | None:
        breaker = self["circuit_breaker"]
        if breaker == "off":
            return None
        return breaker.get("name") or self.plugin_command() or f"schedule/{schedule_id}"

    def when(self) -> tuple[Any, ...]:
        """Equal, if the same slots are named by the same window."""
        interval = self.interval
        named = (self.naming, str(self[self.naming])) if interval is None else interval
        bounds = tuple(
            instant_of(self.whole[name]) if name in self.whole else None
            for name in ("start_at", "end_at")
        )
        if self.once:
            said = self[self.naming]
            return (instant_of(said) if self.naming == "at" else duration_of(said),)
        beside = (str(self["timezone"]), self["dst_gap"], self["dst_fold"], self.completion)
        dialect = self.whole.get("dialect", "standard")
        window = tuple(str(self[name]) for name in WINDOW)
        return (named, bounds, beside, dialect, window)

    def refused(self, slot: int) -> str | None:
        """Why the window refuses this slot."""
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
        """Those in (low, high]; `anchor` is from where an interval counts."""
        if high <= low:
            return []
        found = self._named(anchor, low, high)
        if self["first_run"] == "now" and low < created_at <= high:
            found = sorted({*found, created_at})
        start, end = (self.whole.get(name) for name in ("start_at", "end_at"))
        if start is not None:
            found = [slot for slot in found if slot >= instant_of(start) or slot == created_at]
        if end is not None:
            found = [slot for slot in found if slot <= instant_of(end)]
        return found

    def _named(self, anchor: int, low: int, high: int) -> list[int]:
        if self.once:
            slot = instant_of(self["at"]) if self.naming == "at" else None
            slot = anchor + duration_of(self["after"]) if slot is None else slot
            return [slot] if low < slot <= high else []
        interval = self.interval
        if interval is None:
            return within(self._walls(), low, high)
        start = self.whole.get("start_at")
        base = anchor if start is None else instant_of(start)
        first = 1 if start is None else 0
        elapsed, days = interval
        if days is None:
            k = max(first, (low - base) // elapsed + 1)
            return list(range(base + k * elapsed, high + 1, elapsed))
        return within(self._calendar(base, days, first), low, high)

    def _walls(self) -> Walls:
        zone, gap, fold = self["timezone"], self["dst_gap"], self["dst_fold"]
        if self.naming == "cron":
            text = {"@daily": "0 0 * * *"}.get(self["cron"], self["cron"])
            if self.whole.get("seconds"):
                return SecondsWalls(int(text.split()[0][2:]))
            words = walk.CronWords(text)
            minutes = sorted(h * 60 + m for h in words.hours for m in words.minutes)
            return Walls(zone, words.names, tuple(minutes), words.real_time, gap, fold)
        said = self[self.naming]
        if self.naming == "hourly":
            minutes = [h * 60 + said["minute"] for h in range(24)]
            return Walls(zone, lambda _: True, tuple(minutes), True, gap, fold)
        minute = int(said["time"][:2]) * 60 + int(said["time"][3:])
        names: Callable[[date], bool] = lambda _: True  # noqa: E731
        if self.naming == "weekly":
            names = lambda day: calendar.day_name[day.weekday()].lower() in said["days"]  # noqa: E731
        if self.naming == "monthly":
            names = lambda day: day.day == said["day"]  # noqa: E731
        return Walls(zone, names, (minute,), False, gap, fold)

    def _calendar(self, base: int, days: int, first: int) -> Walls:
        """The same wall time again."""
        zone = self["timezone"]
        wall = (EPOCH + timedelta(microseconds=base)).astimezone(walk.zone(zone))
        minute = wall.hour * 60 + wall.minute
        rest = wall.second * SECOND + wall.microsecond
        anchor = wall.date()

        def names(day: date) -> bool:
            if day < anchor or (day == anchor and first):
                return False
            if days:
                return (day - anchor).days % days == 0
            last = calendar.monthrange(day.year, day.month)[1]
            return day.day == min(anchor.day, last)

        return Walls(zone, names, (minute,), False, self["dst_gap"], self["dst_fold"], rest)


class Walls:
    """Minutes of the day, on some days, in a zone."""

    def __init__(
        self,
        zone: str,
        names: Callable[[date], bool],
        minutes: tuple[int, ...],
        real_time: bool,
        gap: str,
        fold: str,
        rest: int = 0,
    ) -> None:
        self.zone, self.names, self.minutes = zone, names, minutes
        self.real_time, self.gap, self.fold, self.rest = real_time, gap, fold, rest

    def between(self, low: int, high: int) -> list[int]:
        """Those in [low, high)."""
        found: list[int] = []
        for start, end, is_plain in stretches(self.zone, low, high):
            found += self._plain(start, end) if is_plain else self._walked(start, end)
        return [slot for slot in found if low <= slot < high]

    def _plain(self, start: int, end: int) -> list[int]:
        first = EPOCH + timedelta(microseconds=start)
        offset = walk.offset(first, walk.zone(self.zone)) // timedelta(microseconds=1)
        found, day = [], (start + offset) // DAY
        while day * DAY - offset < end:
            if self.names(date.fromordinal(EPOCH.toordinal() + day)):
                base = day * DAY - offset + self.rest
                found += [base + minute * MINUTE for minute in self.minutes]
            day += 1
        return [slot for slot in found if start <= slot < end]

    def _walked(self, start: int, end: int) -> list[int]:
        minutes = set(self.minutes)

        def matches(wall: datetime) -> bool:
            return wall.hour * 60 + wall.minute in minutes and self.names(wall.date())

        found = []
        for step in walked(self.zone, start, end):
            instant = (step.instant - EPOCH) // timedelta(microseconds=1)
            on_time = matches(step.wall)
            if self.real_time:
                found += [instant] if on_time else []
                continue
            made_up = self.gap == "after" and any(matches(wall) for wall in step.jumped_over)
            if made_up:
                found.append(instant)
            if on_time and not (step.again and self.fold == "once"):
                found += [] if made_up and not self.rest else [instant + self.rest]
        return [slot for slot in found if start <= slot < end]


class SecondsWalls(Walls):
    """Every so many seconds of each minute: all offsets here are whole minutes."""

    def __init__(self, every: int) -> None:
        self.every = every * SECOND

    def between(self, low: int, high: int) -> list[int]:
        first = -(-low // self.every) * self.every
        return list(range(first, high, self.every))


def within(walls: Walls, low: int, high: int) -> list[int]:
    """In (low, high]."""
    return walls.between(low + 1, high + 1)


@lru_cache(maxsize=64)
def _changes(zone: str) -> tuple[int, ...]:
    found = walk.changes(zone, 2025, 2029)
    return tuple((each - EPOCH) // timedelta(microseconds=1) for each in found)


def stretches(zone: str, low: int, high: int) -> list[tuple[int, int, bool]]:
    """[low, high) cut into what lies far from any change of offset, and what does not."""
    around = AROUND // timedelta(microseconds=1)
    near = [(change - around, change + around) for change in _changes(zone)]
    merged: list[list[int]] = []
    for start, end in near:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = end
        else:
            merged.append([start, end])
    cut, place = [], low
    for near_from, near_until in merged:
        start, end = max(near_from, low), min(near_until, high)
        if start < end:
            cut += [(place, start, True)] if place < start else []
            cut.append((start, end, False))
            place = end
    return [*cut, (place, high, True)] if place < high else cut


def walked(zone: str, start: int, end: int) -> Sequence[walk.Step]:
    """Real minutes of a stretch, walked once for all who ask about this change."""
    around = AROUND // timedelta(microseconds=1)
    changes = _changes(zone)
    first = bisect_left(changes, start - around)
    last = bisect_right(changes, end + around)
    return _walked(zone, changes[first] - around, changes[last - 1] + around)


@lru_cache(maxsize=64)
def _walked(zone: str, start: int, end: int) -> Sequence[walk.Step]:
    begin = EPOCH + timedelta(microseconds=start - start % MINUTE)
    return walk.steps(zone, begin, EPOCH + timedelta(microseconds=end))
