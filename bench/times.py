"""The speed of `next` compared with cronsim, croniter, APScheduler and celery.

Twelve expressions, a thousand slots each, each computed from the one before; then a fresh `next` at
random instants of four years, with and without parsing each time. A figure is the median over the
rounds of the mean over the expressions. Objects are created before the measurement, and all
libraries take part in each round, so that noise of the machine affects all of them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
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

from harness.times.phrases import phrases
from quarterjack import Cron
from quarterjack.times.cron_text import read_cron
from quarterjack.times.instants import from_datetime
from quarterjack.times.words import parse_words

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
INTEGERS = "quarterjack, integers"
Fires = Callable[[int], None]
NextAt = Callable[[Any], object]
FRESH = 300
"""Random instants for each expression."""


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
    INTEGERS: quarterjack_integers,
    "quarterjack, next(datetime)": quarterjack_datetimes,
    "cronsim": cronsim,
    "croniter": with_croniter,
    "APScheduler 3": with_apscheduler,
    "celery crontab": with_celery,
}


def instants(count: int) -> list[datetime]:
    """Random and unsorted, so that nothing computed before helps."""
    random = Random(11)
    return [START + timedelta(seconds=random.randrange(4 * 365 * 86400)) for _ in range(count)]


def quarterjack_at(text: str, zone: str) -> NextAt:
    return Cron(text, timezone=zone).next


def quarterjack_integers_at(text: str, zone: str) -> NextAt:
    return Cron(text, timezone=zone).slots.after


def cronsim_at(text: str, zone: str) -> NextAt:
    """A parsed object, moved to the instant as its constructor does."""
    info = zone_info(zone)
    fires = CronSim(text, START.astimezone(info))
    is_fixed = fires.fixup_tz is not None

    def next_at(when: datetime) -> object:
        local = when.astimezone(info)
        fires.dt = local.replace(tzinfo=None) if is_fixed else local
        return next(fires)

    return next_at


def croniter_at(text: str, zone: str) -> NextAt:
    info = zone_info(zone)
    fires = croniter(text, START.astimezone(info), max_years_between_matches=9)
    return lambda when: fires.get_next(datetime, start_time=when.astimezone(info))


def celery_at(text: str, zone: str) -> NextAt:
    app = Celery(set_as_current=False)
    app.conf.timezone = zone
    schedule = crontab.from_string(text)
    schedule.app = app

    def next_at(when: datetime) -> object:
        last, delta, _ = schedule.remaining_delta(when)
        return last + delta

    return next_at


WANTED = {
    ("quarterjack, next(datetime)", "UTC"): 25,
    ("quarterjack, next(datetime)", "America/New_York"): 25,
    (INTEGERS, "UTC"): 60,
    (INTEGERS, "America/New_York"): 60,
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
        wanted = {name: WANTED[name, zone] for name in rows if (name, zone) in WANTED}
        _print_rows(rows, wanted)


FRESH_LIBRARIES: dict[str, Callable[[str, str], NextAt]] = {
    INTEGERS: quarterjack_integers_at,
    "quarterjack, next(datetime)": quarterjack_at,
    "cronsim": cronsim_at,
    "croniter": croniter_at,
    "celery crontab": celery_at,
}


def fresh_starts(rounds: int, *, parsed: bool) -> None:
    """`parsed`: the expression is parsed before, else for each instant."""
    whens: dict[str, list[Any]] = {name: instants(FRESH) for name in FRESH_LIBRARIES}
    if parsed:
        whens[INTEGERS] = [from_datetime(when) for when in whens[INTEGERS]]
    else:
        del whens[INTEGERS]
    for zone in ZONES:
        rows: dict[str, list[float]] = {name: [] for name in whens}
        for _ in range(rounds):
            for name, row in rows.items():
                make, own = FRESH_LIBRARIES[name], whens[name]
                spent = sum(
                    seconds_of(partial(_fresh, make, text, zone, own, parsed=parsed))
                    for text in EXPRESSIONS
                )
                row.append(spent / FRESH / len(EXPRESSIONS) * 1e6)
        with_parse = "without parsing" if parsed else "parse included"
        print(f"\nfresh next at {FRESH} random instants, {with_parse}, {zone}")
        _print_rows(rows, {name: 10 for name in rows if parsed and "quarterjack" in name})


def _fresh(
    make: Callable[[str, str], NextAt], text: str, zone: str, whens: list[Any], *, parsed: bool
) -> None:
    if parsed:
        next_at = make(text, zone)
        for when in whens:
            next_at(when)
        return
    for when in whens:
        make(text, zone)(when)


def _print_rows(rows: dict[str, list[float]], wanted: dict[str, int]) -> None:
    for name, microseconds in rows.items():
        pairs = zip(rows["cronsim"], microseconds, strict=True)
        ratio = statistics.median(theirs / ours for theirs, ours in pairs)
        note = f"   wanted {wanted[name]} x" if name in wanted else ""
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


def words(rounds: int) -> None:
    """The phrases of the test suite, each parsed again; expressions that they make are new too."""
    texts = [row.phrase for row in phrases()]
    spent = []
    for _ in range(rounds):
        read_cron.cache_clear()
        reading = partial(read_all, lambda text: parse_words(text, "UTC", START), set(texts))
        spent.append(seconds_of(reading) / len(texts) * 1e6)
    print(f"\nparsing a phrase in words: {statistics.median(spent):.1f} us   wanted under 200")


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
    fresh_starts(options.rounds, parsed=True)
    fresh_starts(options.rounds, parsed=False)
    parsing(options.rounds)
    words(options.rounds)
    starting(3 * options.rounds)


if __name__ == "__main__":
    main()
