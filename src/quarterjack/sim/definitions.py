"""Random definitions of schedules: every recurrence and policy, and invalid ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND, to_text

Fields = dict[str, Any]

ZONES: tuple[str, ...] = (
    "UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago",
    "Africa/Cairo", "Asia/Beirut", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Chatham",
)  # fmt: skip

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_CRONS: dict[str, float] = {
    "*/{n} * * * *": 1440, "*/5 * * * *": 288, "0,30 * * * *": 48, "{m} * * * *": 24,
    "{m} */2 * * *": 12, "{m} 9-17 * * MON-FRI": 6.4, "*/30 1-3 * * *": 6, "{m} 0,1,2,3 * * *": 4,
    "{m} 1,2 * * *": 2, "{m} 2 * * *": 1, "{m} 0 * * *": 1, "0 0 * * *": 1, "@daily": 1,
    "{m} {h} * * *": 1, "{m} {h} * * 1-5": 0.7, "{m} {h} */3 * *": 0.33, "{m} {h} 1,15 * 1": 0.2,
    "{m} {h} */2 * 1": 0.07, "{m} {h} * * SUN": 0.14, "{m} {h} 1 * *": 0.033,
    "{m} {h} L * *": 0.033, "{m} {h} LW * *": 0.033, "{m} {h} L-3 * *": 0.033,
    "{m} {h} 15W * *": 0.033, "{m} {h} * * 5#3": 0.033, "{m} {h} * * 5L": 0.033,
    "{m} {h} ? JAN-JUN 6": 0.07,
}  # fmt: skip
"""With the number of slots per day, at most."""

_UNIONS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (2, ("{m} 2 * * *", "30 {h} * * MON-FRI")), (2, ("{m} {h} * * *", "30 2 * * *")),
    (3, ("0 3 * * *", "30 1,2 * * *")), (50, ("{m} 1 * * *", "0,30 * * * *")),
    (300, ("*/5 * * * *", "{m} 2 * * FRI-SUN")), (0.1, ("{m} {h} 1 * *", "{m} {h} * * friday#2")),
    (30, ("0 9-17 * * Monday-Friday", "{m} * * * *")),
)  # fmt: skip
"""Lists of cron expressions, with their slots per day."""

WORDS: dict[str, float] = {
    "every monday at 2am": 0.14,
    "every day at 2:30am": 1,
    "every weekday at 02:00 and 14:30": 1.4,
    "at 2am on the last friday of the month": 0.03,
    "daily at midnight and noon": 2,
    "on the first business day of the month at 03:00": 0.03,
    "hourly at minute 30": 24,
    "every 30 minutes between 9am and 5pm on weekdays": 12,
    "every sunday at 01:30": 0.14,
    "every weekend at 2:30 am": 0.3,
    "Monday to Friday at 02:00": 0.7,
    "every day except sunday at 01:30 and 02:30": 1.7,
    "on the 1st and 15th of the month at noon": 0.07,
    "quarterly on the last day at 2am": 0.01,
    "every december 24 at 6pm": 0.003,
    "every day from june to november at 3am": 1,
    "on every 3rd day from 1st to 31st of the month at 02:00": 0.33,
    "on day 13 of the month, when that is friday, at 02:00": 0.005,
    "on day 1 of the month or every monday at 02:30": 0.17,
    "every 2 hours from 00:30": 12,
    "every 20 minutes of every hour": 72,
    "every 20 minutes between 10pm and 2am": 12,
    "at minutes 1, 3, 5 and so on to 59 of every hour": 720,
    "every monday at 2am and every friday at 02:30": 0.3,
    "every 15 minutes from 1am to 3am on weekdays": 6.4,
    "every 30 minutes": 48,
    "every 1 hour and 30 minutes": 16,
    "every day": 1,
}
"""Phrases that do not depend on today, with their slots per day."""


def draw_recurrence(random: Random, now: int, zones: Sequence[str], slots_per_day: float) -> Fields:
    """A recurrence field and the fields that go with it."""
    draws: list[Callable[[Random, int, float], Fields]]
    draws = [_cron, _elapsed, _calendar, _pattern, _completion, _once, _union, _words, _instants]
    draw = random.choices(draws, [44, 20, 10, 12, 3, 5, 8, 6, 2])[0]
    fields = draw(random, now, slots_per_day)
    if draw in (_once, _instants):
        return fields
    fields |= {
        "timezone": random.choice(zones),
        "dst_gap": random.choice(["after", "after", "skip"]),
        "dst_fold": random.choice(["once", "once", "twice"]),
    }
    if random.random() < 0.12:
        fields["start_at"] = to_text(now + random.randrange(-3, 4) * HOUR)
    if random.random() < 0.08:
        fields["end_at"] = to_text(now + random.randrange(1, 40) * DAY)
    return fields


def _cron(random: Random, _now: int, slots_per_day: float) -> Fields:
    low, high = slots_per_day / 6, slots_per_day * 2
    fitting = [text for text, slots in _CRONS.items() if low <= slots <= high]
    text = random.choice(fitting or ["*/{n} * * * *"]).format(
        n=random.choice([1, 2]),
        m=random.choices([0, 30, random.randrange(60)], [12, 1, 1])[0],
        h=random.choices([0, 2, 3, 12], [1, 6, 1, 1])[0],
    )
    fields: Fields = {"cron": text}
    if random.random() < 0.1 and not set(text) & set("/L#W?@ABCDEFGHIJMNOPRSTUV"):
        fields["dialect"] = "posix"
    if random.random() < 0.05:
        fields["first_run"] = "match"
    if slots_per_day > 700 and random.random() < 0.1:
        return {"cron": f"*/{random.choice([20, 30])} * * * * *", "seconds": True}
    if fields.get("dialect") != "posix" and random.random() < _both_days_chance(text):
        fields["day_rule"] = "and"
    return fields


def _both_days_chance(text: str) -> float:
    """It matters where both day fields are restricted."""
    starred = text.startswith("@") or "*" in (text.split()[2], text.split()[4])
    return 0.05 if starred else 0.5


def _union(random: Random, _now: int, slots_per_day: float) -> Fields:
    crons = min(_UNIONS, key=lambda each: abs(each[0] - slots_per_day) + random.random())[1]
    if random.random() < 0.5:
        crons = random.choice([each for slots, each in _UNIONS if slots <= slots_per_day * 2 + 2])
    minute = random.choices([0, 30, random.randrange(60)], [12, 1, 1])[0]
    hour = random.choices([0, 2, 3, 12], [1, 6, 1, 1])[0]
    return {"cron": [each.format(m=minute, h=hour) for each in crons]}


def _words(random: Random, _now: int, slots_per_day: float) -> Fields:
    fitting = [text for text, slots in WORDS.items() if slots <= slots_per_day * 2 + 2]
    return {"schedule": random.choice(fitting)}


def _instants(random: Random, now: int, _slots_per_day: float) -> Fields:
    delays = random.sample([-HOUR, 5 * SECOND, MINUTE, HOUR, 2 * HOUR, DAY], 3)
    return {"at": [to_text(now + delay) for delay in delays]}


_MINUTES = (1, 2, 5, 10, 15, 30, 60, 90, 120, 180, 360, 480, 720, 1440, 2880)
"""Round numbers, as users choose them, so that many schedules are due at once."""


def _elapsed(random: Random, now: int, slots_per_day: float) -> Fields:
    minutes = min(_MINUTES, key=lambda each: abs(each - 1440 / slots_per_day))
    spellings: list[Any] = [
        f"{minutes}m",
        f"PT{minutes}M",
        f"{minutes} minutes",
        f"{minutes * 60}s",
    ]
    if minutes > 60:
        spellings.append(f"{minutes // 60}h{minutes % 60}m" if minutes % 60 else f"{minutes}m")
    fields: Fields = {"every": random.choice(spellings)}
    if random.random() < 0.15:
        fields = {"interval_seconds": minutes * 60}
    if random.random() < 0.7:
        return fields | {"start_at": _recent_night(random, now)}
    return fields | ({"first_run": "now"} if random.random() < 0.1 else {})


def _calendar(random: Random, now: int, _slots_per_day: float) -> Fields:
    every = random.choice(["1d", "2d", "daily", "1w", "weekly", "monthly", "P1D"])
    fields: Fields = {"every": every}
    if random.random() < 0.6:
        fields["start_at"] = _recent_night(random, now)
    return fields


def _recent_night(random: Random, now: int) -> str:
    """Mostly at 02:00, where daylight saving changes happen."""
    minutes = random.choices([0, 120, random.randrange(5 * 60)], [1, 6, 1])[0]
    return to_text(now - now % DAY - random.randrange(3) * DAY + minutes * MINUTE)


def _pattern(random: Random, _now: int, slots_per_day: float) -> Fields:
    hour = random.choices([0, 1, 2, 3, 12], [1, 1, 6, 1, 1])[0]
    time = f"{hour:02}:{random.choices([0, 30, 59], [12, 1, 1])[0]:02}"
    if slots_per_day >= 12:
        return {"hourly": {"minute": random.randrange(60)}}
    days = random.sample(_WEEKDAYS, random.randrange(1, 4))
    monthly = {"day": random.choice([1, 15, 29, 31]), "time": time}
    weekly = {"days": days, "time": time}
    return random.choice([{"daily": {"time": time}}, {"weekly": weekly}, {"monthly": monthly}])


def _completion(random: Random, now: int, slots_per_day: float) -> Fields:
    return _elapsed(random, now, slots_per_day) | {"anchor": "completion"}


def _once(random: Random, now: int, _slots_per_day: float) -> Fields:
    at = now + random.choice([-HOUR, 5 * SECOND, MINUTE, HOUR, DAY])
    fields: Fields = random.choice([{"at": to_text(at)}, {"at": at // 1000}, {"after": "90m"}])
    return fields | ({"delete_after_run": True} if random.random() < 0.4 else {})


def draw_target(random: Random, prompts: int) -> Fields:
    targets: list[Fields] = [
        {"task": "work"},
        {"plugin": "echo"},
        {"plugin": "echo", "command": "sync"},
        {"plugin": "tide"},
        {"prompt": "Check the queue"},
        {"workflow_id": 7},
        {"command": ["backup", "--all"]},
        {"target": {"kind": "http", "method": "POST", "url": "https://example.org"}},
    ]
    return dict(random.choices(targets, [50, 10, 8, 6, prompts, 6, 10, 4])[0])


def draw_policies(random: Random, slots_per_day: float) -> Fields:
    """Each policy with some probability."""
    interval = min(120, max(1, round(1440 / slots_per_day)))
    offers: dict[str, list[Any]] = {
        "catch_up": ["run_once", "skip", "run_all", "run_all"],
        "grace": ["10s", "60s", "10m"],
        "catch_up_window": ["5m", "1h", "2d"],
        "max_catch_up_runs": [1, 3, 100],
        "if_running": ["skip", "queue", "cancel", "allow"],
        "queue_limit": [1, 2, 1000],
        "max_retries": [0, 1, 2, 3, "endless"],
        "retry_delay": ["10s", "30s", "4m"],
        "retry_backoff": ["exponential", "fixed"],
        "slot_preempts_retry": [True, False],
        "on_exhausted": ["continue", "continue", "dead", "pause"],
        "circuit_breaker": [
            "off",
            {"threshold": 2, "reset_after": "6m"},
            {"threshold": 1, "reset_after": f"{interval}m", "name": "shared"},
        ],
        "max_consecutive_errors": [0, 3, 5],
        "total_repeats": [0, 0, 5, 50],
        "only_between": ["08:00-18:00", "22:00-04:30", "02:00-03:00"],
        "not_on": [["saturday", "sunday"], [0, 3], ["2026-12-25"]],
        "on_constraint": ["drop", "defer", "next_day"],
        "jitter": ["20s", "3m"],
        "timeout": ["30s", "5m", "none"],
        "execution": ["at_most_once", "at_least_once"],
        "priority": [-1, 5],
        "preset": ["ductile", "horsies", "agent", "pipelit"],
    }
    rare = {
        "total_repeats", "only_between", "not_on", "priority", "preset", "catch_up_window", "jitter"
    }  # fmt: skip
    return {
        field: random.choice(values)
        for field, values in offers.items()
        if random.random() < (0.1 if field in rare else 0.25)
    }


INVALID: tuple[Fields, ...] = (
    {"cron": "61 * * * *", "task": "work"},
    {"cron": "0 0 30 2 *", "task": "work"},
    {"every": "5m", "cron": "* * * * *", "task": "work"},
    {"every": "5m"},
    {"every": "5m", "task": "work", "command": ["true"]},
    {"every": "5m", "task": "work", "max_retries": "many"},
    {"every": "5m", "task": "work", "max_retires": 3},
    {"every": "5m", "task": "work", "queue": "nowhere"},
    {"every": "5m", "task": "work", "execution": "at_most_once", "max_retries": 2},
    {"every": "5m", "task": "work", "delete_after_run": True},
    {"every": "5m", "task": "work", "first_run": "match"},
    {"at": "2026-11-16T08:00:00Z", "task": "work", "total_repeats": 3},
    {"every": "5m", "task": "work", "max_outstanding_polls": 2},
    {"every": "5m", "task": "work", "payload": [1]},
    {"every": "5m", "task": "work", "payload": {"x": "\x00"}},
    {"every": "5m", "task": "work", "payload": {"x": {1: 2}}},
    {"every": "5m", "task": "work", "tags": "nightly"},
    {"every": "5m", "task": "work", "tags": ["a", "a"]},
    {"every": "5m", "task": "work", "enabled": "yes"},
    {"every": "5m", "task": "work", "jitter": "soon", "name": ""},
    {"every": "5m", "task": "work", "name": "n" * 300},
    {"every": "5m", "task": "work", "description": "a\x07b"},
    {"every": "5m", "task": "work", "preset": "sixth"},
    {"every": "5m", "task": "work", "circuit_breaker": {"threshold": 0, "reset_after": "-1"}},
    {"every": "5m", "task": "work", "circuit_breaker": 3},
    {"every": "5m", "task": "work", "timeout": "60s", "timeout_seconds": 60},
    {"every": "5m", "task": "work", "key": "42"},
    {"every": "5m", "task": "work", "key": " blank "},
    {"every": "5m", "task": "work", "timezone": "Mars/Olympus"},
    {"cron": "0 3 * * *", "task": "work", "only_between": "08:00-09:00"},
    {"every": "5m", "command": []},
    {"every": "5m", "command": ["true", 1]},
    {"every": "5m", "command": ["true"], "payload": {"x": "y" * 140_000}},
    {"every": "5m", "workflow_id": "seven"},
    {"every": "5m", "plugin": "a/b"},
    {"every": "5m", "task": "work", "model": "small"},
    {"every": "5m", "target": {"kind": "odd"}},
    {"every": "5m", "target": {"kind": "task", "task": "work"}, "task": "work"},
)
"""Definitions that are refused."""
