"""Hostile strings for the parsers, which must raise `InvalidRecurrence` or nothing, quickly.

`make fuzz` tries a million of them, the suite some thousands.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from random import Random
from typing import Any

from harness.times.caches import clear_caches
from harness.times.phrases import phrases
from quarterjack import Cron, Daily, InvalidRecurrence, Recurrence, Weekly, parse
from quarterjack.times import Window, warnings
from quarterjack.times.durations import read_duration, read_interval
from quarterjack.times.instants import from_datetime, read_instant
from quarterjack.times.words import parse_words
from quarterjack.times.zones import zone_name

CPU_SECONDS_MAX = 0.05
NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)

SEEDS = (
    "* * * * *", "*/5 9-17 * * MON-FRI", "0 0 L-3,15W * 5#3,1L", "@daily", "H/15 H(0-7) * * *",
    "*/7,*/9 */5 29-31 * 0-6", "0 0 29 2 *", "0 0 31 12 ?", "30 2 1,15 JAN-MAR 7",
    "5 4 3 2 1 0", "1h30m", "500ms", "PT5M",
    "P1DT12H", "2w", "daily", "monthly", "2026-11-16T09:00:00+02:00", "2026-02-30T25:61:61Z",
    "08:00-18:00", "22:00-06:00", "24:00-24:00", "saturday", "holidays:DE-BY", "2026-12-24",
    "Europe/Berlin", "local", "../../etc/passwd", "every monday at 9am", "in 2 hours", "",
    "CRON_TZ=Asia/Tokyo 0 9 * * *", "0 9 * January Friday-SUN", "0 9 * * sat%2", "0 24 * * *",
    "0 9 1 1 * 2027", "1h 30min", "2 hours and 5 minutes", "1.5h", "90 seconds",
    "every 15 minutes between 9am and 5pm on weekdays", "last friday of the month at noon",
    "2nd monday of january and july at 17:45 Europe/Berlin", "every other day from 2026-11-16",
    "tomorrow at half past nine", "every day at 9am, 12:30pm and midnight except sundays",
)  # fmt: skip
PHRASES = tuple(row.phrase for row in phrases())
LETTERS = (
    "0123456789*/,-?#@LWH()TPZ:.+ \t\n\r\x00\x1b\x7f\x85abcdefghijklmnopqrstuvwxyzABCDEFG"
    "é٣１∞\u200b\u202e\U0001f570\ud800"
)
NUMBERS = ("0", "00", "7", "31", "59", "60", "99", "-1", "4294967296", "9" * 30, "1e9", "0x10")


def hostile(random: Random) -> str:
    """A mutated seed, or noise."""
    if random.random() < 0.1:
        return "".join(random.choices(LETTERS, k=random.randrange(300)))
    text = random.choice(PHRASES if random.random() < 0.25 else SEEDS)
    for _ in range(random.choice((0, 1, 1, 2, 3, 5))):
        place = random.randrange(len(text) + 1)
        change = random.choice((0, 1, 2, 2, 2, 3, 4, 5, 6, 6))
        if change == 0:
            text = text[:place] + random.choice(LETTERS) + text[place:]
        elif change == 1:
            text = text[:place] + text[place + random.randrange(1, 4) :]
        elif change == 2:
            text = text[:place] + random.choice(NUMBERS) + text[place + 1 :]
        elif change == 3:
            text = text[:place] + random.choice(SEEDS) + text[place:]
        elif change == 4:
            text = text * random.choice((1, 2, 2, 20)) if len(text) < 200 else text[:50]
        elif change == 5:
            words = text.split(" ")
            random.shuffle(words)
            text = random.choice((" ", "  ", ",")).join(words)
        else:
            words = text.split(" ")
            words[random.randrange(len(words))] = str(random.randrange(32))
            text = " ".join(words)
    return text


def parse_and_use(text: str) -> None:
    """An accepted recurrence must work."""
    _use(parse(text, now=NOW, key="fuzz"))


def _use(recurrence: Recurrence) -> None:
    recurrence.next(NOW)
    recurrence.prev(NOW)
    recurrence.describe()
    recurrence.to_json()
    warnings(recurrence, from_datetime(NOW))


READERS: dict[str, Callable[[str], Any]] = {
    "parse": parse_and_use,
    "cron": lambda text: Cron(text, timezone="America/New_York", key="k").next(NOW),
    "union": lambda text: _use(Cron([text, "*/7 1-3 * * *"], timezone="Europe/Berlin", key="k")),
    "day rule": lambda text: Cron(text, day_rule="and", key="k").next(NOW),
    "words": lambda text: _use(parse_words(text, "America/New_York", NOW)),
    "cron with seconds": lambda text: Cron(text, seconds=True, key="k").next(NOW),
    "posix": lambda text: Cron(text, dialect="posix").next(NOW),
    "mapping": lambda text: parse({"cron": "0 9 * * *", "timezone": text, "end_at": text}),
    "interval": read_interval,
    "duration": lambda text: read_duration(text, "timeout"),
    "instant": lambda text: read_instant(text, "at"),
    "window": lambda text: Window(only_between=text),
    "not_on": lambda text: Window(not_on=(text,)),
    "daily": Daily,
    "weekly": lambda text: Weekly((text,), "09:00"),
    "zone": zone_name,
}


def fuzz(count: int, seed: int) -> tuple[Counter[str], float]:
    """The number of accepted and refused strings, and the longest CPU time of one."""
    random = Random(seed)
    tally: Counter[str] = Counter()
    longest = 0.0
    names = list(READERS)
    for text in _strings(random, count):
        name = random.choices(names, [6, 3, 1, 1, 3, 2, 2, *[1] * (len(names) - 7)])[0]
        spent, accepted = _try(name, text)
        if spent > CPU_SECONDS_MAX:  # a pause of the machine would not be repeated
            spent = min(_try_cold(name, text) for _ in range(3))
        assert spent <= CPU_SECONDS_MAX, f"{name} took {spent:.3f} s of CPU for {text!r}"
        longest = max(longest, spent)
        tally["accepted" if accepted else "refused"] += 1
    return tally, longest


def _try_cold(name: str, text: str) -> float:
    clear_caches()
    return _try(name, text)[0]


def _try(name: str, text: str) -> tuple[float, bool]:
    started_at = time.process_time()
    try:
        READERS[name](text)
    except InvalidRecurrence as error:
        assert error.problems, f"{name} refused {text!r} without a reason"
        return time.process_time() - started_at, False
    except Exception as error:
        raise AssertionError(f"{name} raised {error!r} for {text!r}") from error
    return time.process_time() - started_at, True


def _strings(random: Random, count: int) -> Iterator[str]:
    for _ in range(count):
        yield hostile(random)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--count", type=int, default=1_000_000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    parts = 20
    tally: Counter[str] = Counter()
    longest = 0.0
    with ProcessPoolExecutor() as pool:
        share = options.count // parts
        shares = [pool.submit(fuzz, share, options.seed * 1000 + part) for part in range(parts)]
        for found in shares:
            counted, spent = found.result()
            tally += counted
            longest = max(longest, spent)
    print(f"strings                       {tally.total():>12,}   (seed {options.seed})")
    print(f"accepted                      {tally['accepted']:>12,}")
    print(f"refused with InvalidRecurrence{tally['refused']:>12,}")
    print(f"other exceptions              {0:>12,}")
    print(f"longest, CPU milliseconds     {longest * 1000:>12.1f}   (limit 50)")


if __name__ == "__main__":
    main()
