"""The speed of `next` compared with cronsim, croniter, APScheduler and celery.

Twelve expressions, a thousand slots each, each computed from the one before. A figure is the median
over the rounds of the mean over the expressions. Objects are created before the measurement, and
all libraries take part in each round, so that noise of the machine affects all of them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from celery import Celery
from celery.schedules import crontab
from croniter import croniter
from cronsim import CronSim

from quarterjack import Cron
from quarterjack.times.cron_text import read_cron

EXPRESSIONS = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "0 */6 * * *",
    "30 2 * * *",
    "0 9 * * 1-5",
    "*/15 9-17 * * 1-5",
    "15 10 * * 1,3,5",
    "0 12 1,15 * *",
    "0 0 1 * *",
    "0 9 1 * 1",
    "0 0 29 2 *",
)
START = datetime(2025, 1, 1, tzinfo=UTC)
ZONES = ("UTC", "America/New_York")
Fires = Callable[[int], None]


def quarterjack_datetimes(text: str, zone: str) -> Fires:
    cron = Cron(text, timezone=zone)

    def fire(count: int) -> None:
        following = cron.next
        when: Any = START
        for _ in range(count):
            when = following(when)

    return fire


def quarterjack_integers(text: str, zone: str) -> Fires:
    slots = Cron(text, timezone=zone).slots
    start = int(START.timestamp()) * 1_000_000

    def fire(count: int) -> None:
        following = slots.after
        when: Any = start
        for _ in range(count):
            when = following(when)

    return fire


def cronsim(text: str, zone: str) -> Fires:
    def fire(count: int) -> None:
        fires = CronSim(text, START.astimezone(zone_info(zone)))
        for _ in range(count):
            next(fires)

    return fire


def with_croniter(text: str, zone: str) -> Fires:
    def fire(count: int) -> None:
        fires = croniter(text, START.astimezone(zone_info(zone)), max_years_between_matches=9)
        for _ in range(count):
            fires.get_next(datetime)

    return fire


def with_apscheduler(text: str, zone: str) -> Fires:
    trigger = CronTrigger.from_crontab(text, timezone=zone_info(zone))

    def fire(count: int) -> None:
        when = START.astimezone(zone_info(zone))
        for _ in range(count):
            when = trigger.get_next_fire_time(when, when)

    return fire


def with_celery(text: str, zone: str) -> Fires:
    app = Celery(set_as_current=False)
    app.conf.timezone = zone
    schedule = crontab.from_string(text)
    schedule.app = app

    def fire(count: int) -> None:
        when = START.astimezone(zone_info(zone))
        for _ in range(count):
            last, delta, _ = schedule.remaining_delta(when)
            when = last + delta

    return fire


def zone_info(zone: str) -> Any:
    return UTC if zone == "UTC" else ZoneInfo(zone)


LIBRARIES: dict[str, Callable[[str, str], Fires]] = {
    "quarterjack, integers": quarterjack_integers,
    "quarterjack, next(datetime)": quarterjack_datetimes,
    "cronsim": cronsim,
    "croniter": with_croniter,
    "APScheduler 3": with_apscheduler,
    "celery crontab": with_celery,
}
WANTED = {
    ("quarterjack, next(datetime)", "UTC"): 25,
    ("quarterjack, next(datetime)", "America/New_York"): 15,
    ("quarterjack, integers", "UTC"): 60,
    ("quarterjack, integers", "America/New_York"): 60,
}


def seconds_of(work: Callable[[], object]) -> float:
    started_at = time.perf_counter()
    work()
    return time.perf_counter() - started_at


def next_fires(rounds: int, count: int) -> None:
    for zone in ZONES:
        runners = {
            name: [make(text, zone) for text in EXPRESSIONS] for name, make in LIBRARIES.items()
        }
        rows: dict[str, list[float]] = {name: [] for name in runners}
        for _ in range(rounds):
            for name, fires in runners.items():
                spent = sum(seconds_of(partial(fire, count)) for fire in fires)
                rows[name].append(spent / count / len(fires) * 1e6)
        print(f"\nnext slot, mean of {len(EXPRESSIONS)} expressions x {count}, {zone}")
        for name, microseconds in rows.items():
            pairs = zip(rows["cronsim"], microseconds, strict=True)
            ratio = statistics.median(theirs / ours for theirs, ours in pairs)
            wanted = WANTED.get((name, zone))
            note = f"   wanted {wanted} x" if wanted else ""
            median = statistics.median(microseconds)
            print(f"  {name:<28}{median:>9.2f} us{ratio:>8.1f} x cronsim's speed{note}")


def read_all(read: Callable[[str], object], texts: set[str]) -> None:
    for text in texts:
        read(text)


def parsing(rounds: int) -> None:
    """New expressions in each round; their fields recur."""
    random = Random(7)
    days = ("*", "1-7", "*/2", "L", "1,15", "10")
    months = ("*", "1,6", "JAN", "3-9")
    weekdays = ("*", "1-5", "SUN", "5#3")
    ratios = []
    for _ in range(rounds):
        texts = {
            f"{random.randrange(60)},{random.randrange(60)} {random.randrange(24)} "
            f"{random.choice(days)} {random.choice(months)} {random.choice(weekdays)}"
            for _ in range(3000)
        }
        read_cron.cache_clear()
        ours = seconds_of(partial(read_all, Cron, texts))
        theirs = seconds_of(partial(read_all, lambda text: CronSim(text, START), texts))
        ratios.append((ours / theirs, ours / len(texts) * 1e6, theirs / len(texts) * 1e6))
    ratio, ours, theirs = sorted(ratios)[len(ratios) // 2]
    print(f"\nparsing a new expression: {ours:.1f} us, cronsim {theirs:.1f} us")
    print(f"  {ratio:.2f} times cronsim's time   wanted at most 2")


def starting(rounds: int) -> None:
    bin_folder = Path(sys.executable).parent
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import quarterjack": [sys.executable, "-c", "import quarterjack"],
        "quarterjack next '0 9 * * *'": [str(bin_folder / "quarterjack"), "next", "0 9 * * *"],
    }
    wanted = {"import quarterjack": 60, "quarterjack next '0 9 * * *'": 200}
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            start = partial(subprocess.run, command, capture_output=True, check=True)
            spent[name].append(seconds_of(start))
    print("\nstarting, wall milliseconds")
    for name, seconds in spent.items():
        note = f"   wanted under {wanted[name]}" if name in wanted else ""
        print(f"  {name:<30}{statistics.median(seconds) * 1000:>7.0f}{note}")


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=7)
    arguments.add_argument("--count", type=int, default=1000)
    options = arguments.parse_args()
    next_fires(options.rounds, options.count)
    parsing(options.rounds)
    starting(3 * options.rounds)


if __name__ == "__main__":
    main()
