"""The times of day that a phrase says, as fields of cron: seconds, minutes, hours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from quarterjack.times.words.said import Said
from quarterjack.times.words.tokens import NotUnderstood

Clock = tuple[str, str, str]
"""Seconds, minutes and hours as in cron."""

_SIZES = {"ms": 0, "s": 60, "m": 60, "h": 24}
_NAMES = {"s": "second", "m": "minute", "h": "hour"}
_WHOLE = {"s": "minute", "m": "hour", "h": "day"}
_DAY = 1440


def clocks_of(said: Said) -> list[Clock]:
    """Several if no single expression names all times."""
    within_day = said.interval and said.interval[0][1] in _SIZES
    if said.times:
        if said.places or said.window or within_day:
            refuse(said, "has both a time of day and a repetition within the day")
        return _of_times(said.times)
    if within_day:
        return _of_interval(said)
    if said.places:
        return [_of_places(said)]
    if said.window:
        readings = [f"every {often} {said.text}" for often in ("hour", "15 minutes")]
        refuse(said, "has a span of time, and does not say how often", *readings)
    return []


def refuse(said: Said, reason: str, *readings: str) -> NoReturn:
    raise NotUnderstood(reason, 0, len(said.text), list(readings))


def runs(values: Iterable[int]) -> str:
    """`1-5,9` for 1 to 5 and 9."""
    found: list[list[int]] = []
    for value in sorted(set(values)):
        if found and value == found[-1][1] + 1:
            found[-1][1] = value
        else:
            found.append([value, value])
    return ",".join(_run(first, last) for first, last in found)


def _run(first: int, last: int) -> str:
    if last - first < 2:
        return str(first) if first == last else f"{first},{last}"
    return f"{first}-{last}"


def _of_times(times: Iterable[tuple[int, int, int]]) -> list[Clock]:
    """Hours with the same minutes share an expression."""
    hours: dict[tuple[int, int], set[int]] = {}
    for hour, minute, second in times:
        hours.setdefault((minute, second), set()).add(hour)
    minutes: dict[tuple[int, str], set[int]] = {}
    for (minute, second), at in hours.items():
        minutes.setdefault((second, runs(at)), set()).add(minute)
    seconds: dict[tuple[str, str], set[int]] = {}
    for (second, at_hours), of in minutes.items():
        seconds.setdefault((runs(of), at_hours), set()).add(second)
    return [(runs(of), minute, hour) for (minute, hour), of in seconds.items()]


def _of_interval(said: Said) -> list[Clock]:
    """An interval on certain days or in certain hours follows the clock."""
    if len(said.interval) > 1:
        refuse(said, "follows the clock, so its interval needs a single unit")
    ((count, unit),) = said.interval
    if unit == "ms":
        refuse(said, "follows the clock, so its interval is at least a second")
    if unit in said.places:
        refuse(said, f"says its {_NAMES[unit]}s twice")
    if unit != "h" and count > 60 and count % 60 == 0 and unit == "m":
        count, unit = count // 60, "h"
    if unit != "h" and count == 60:
        count, unit = 1, {"s": "m", "m": "h"}[unit]
    if said.window and not said.places:
        return _in_window(said, count, unit)
    _check_divides(said, count, unit)
    said.places[unit] = "*" if count == 1 else f"*/{count}"
    return [_of_places(said)]


def _check_divides(said: Said, count: int, unit: str) -> None:
    size = _SIZES[unit]
    if count <= size and size % count == 0:
        return
    name, whole = _NAMES[unit], _WHOLE[unit]
    first, last = said.interval_place
    near = sorted((n for n in range(1, size) if size % n == 0), key=lambda n: abs(n - count))[:2]
    readings = [
        f"{said.text[:first]}every {n} {name}s{said.text[last:]}" for n in sorted(near) if n > 1
    ]
    plural = "" if count == 1 else "s"
    reason = f"follows the clock, and {count} {name}{plural} do not divide a{'n' * (unit == 'm')}"
    raise NotUnderstood(f"{reason} {whole} evenly", first, last, readings)


def _of_places(said: Said) -> Clock:
    """`at minute 5 of every hour`, `every 30th second of minute 0 from 09:00 to 11:59`."""
    places = dict(said.places)
    if said.window:
        if "h" in places and places["h"] != "*":
            refuse(said, "says its hours twice")
        places["h"] = _whole_hours(said)
    if "s" in places and "m" not in places:
        if "h" in places and not said.window:
            refuse(said, "says seconds of an hour; say of which minutes", f"{said.text}")
        places["m"] = "*"
    if "h" not in places:
        if places.get("m") != "*" and not said.interval:
            refuse(said, "has no hours", f"{said.text} of every hour")
        places["h"] = "*"
    return places.get("s", "0"), places.get("m", "0"), places["h"]


def _whole_hours(said: Said) -> str:
    """The hours of a window that begins and ends with an hour."""
    assert said.window is not None
    first, last, with_last, _ = said.window
    end = last + with_last
    if first % 60 or end % 60:
        refuse(said, "needs a window of whole hours, such as from 09:00 to 11:59")
    return runs(_hours(first // 60, end // 60))


def _hours(first: int, end: int) -> list[int]:
    return [hour % 24 for hour in range(first, end if end > first else end + 24)]


def _in_window(said: Said, count: int, unit: str) -> list[Clock]:
    """Counted from the beginning of the window."""
    assert said.window is not None
    first, last, with_last, _ = said.window
    if first == last and not said.window.open_end:
        refuse(said, "has a window that begins and ends at the same time")
    if unit != "h" or said.window.open_end:
        _check_divides(said, count, unit)
    step = count * {"h": 60, "m": 1}.get(unit, 0)
    if said.window.open_end and first >= max(step, 1):
        readings = [f"{said.text} to {end}" for end in ("23:59", "18:00")]
        refuse(said, "has no end", *readings)
    if unit == "h" and step > (last - first) % _DAY and not said.window.open_end:
        refuse(said, "has an interval that is longer than its span of time")
    if unit == "s":
        if with_last and last % 60 != 59:
            refuse(said, "has a window whose last second is unclear; use between ... and")
        every = "*" if count == 1 else f"*/{count}"
        return [(every, minutes, hours) for _, minutes, hours in _slots(said, 1)]
    return _slots(said, step)


def _slots(said: Said, step: int) -> list[Clock]:
    """Each group of hours with the same minutes is one expression."""
    assert said.window is not None
    first, last, with_last, _ = said.window
    end = last + _DAY * (last < first or said.window.open_end) + with_last
    of_hours: dict[int, list[int]] = {}
    for minute in range(first, end, step):
        of_hours.setdefault(minute // 60 % 24, []).append(minute % 60)
    hours: dict[tuple[int, ...], list[int]] = {}
    for hour, minutes in of_hours.items():
        hours.setdefault(tuple(minutes), []).append(hour)
    return [
        ("0", _minutes(minutes, step), _hours_text(said, at, step)) for minutes, at in hours.items()
    ]


def _hours_text(said: Said, hours: list[int], step: int) -> str:
    """With a star where a window without an end covers the day."""
    assert said.window is not None
    even = max(step // 60, 1)
    if said.window.open_end and hours == list(range(0, 24, even)):
        return "*" if even == 1 else f"*/{even}"
    return runs(hours)


def _minutes(minutes: tuple[int, ...], step: int) -> str:
    """With a star where a whole hour is covered, so that it follows real time."""
    if step < 60 and minutes == tuple(range(0, 60, step)):
        return "*" if step == 1 else f"*/{step}"
    return runs(minutes)
