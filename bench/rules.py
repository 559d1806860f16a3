"""What deciding costs: 10,000 schedules due at once, planned and then settled, in CPU time; and a
schedule of each second that nobody looked at for a year.

The schedules are of every kind, each with a key and objects of its own. A figure is the median over
the rounds. As in a process that lives long, all that is stored was loaded before and is kept out of
the garbage collector's rounds (`gc.freeze`); what is decided is not.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

from quarterjack.rules import (
    Ended,
    Ending,
    Facts,
    Limits,
    Outcome,
    Schedule,
    State,
    create,
    plan,
    read_specification,
    settle,
)
from quarterjack.times.instants import DAY, MINUTE, read_instant

CREATED = read_instant("2026-11-16T08:59:00Z", "created")
NOW = CREATED + MINUTE
KINDS: list[dict[str, Any]] = [
    {"task": "work", "cron": "*/5 * * * *"},
    {"task": "work", "every": "1m"},
    {"command": ["true"], "cron": "0 10 * * 1-5", "timezone": "Europe/Berlin"},
    {"http": {"url": "https://example.org"}, "daily": {"time": "04:00"}}
    | {"timezone": "America/New_York"},
    {"task": "work", "every": "1m", "jitter": "30s", "max_retries": 3},
    {"task": "work", "at": "2026-11-16T09:00:00Z"},
    {"workflow_id": 1, "every": "1m"},
    {"prompt": "hello", "hourly": {"minute": 0}},
    {"task": "work", "every": "1m", "if_running": "allow", "catch_up": "run_all"},
    {"task": "work", "cron": "0 9 * * *", "only_between": "08:00-18:00"},
]


def schedules(count: int) -> list[Schedule]:
    made = []
    for number in range(count):
        key = f"schedule-{number}"
        said = read_specification(KINDS[number % len(KINDS)], key=key, now=CREATED)
        made.append(create(number, key, said, CREATED, active=0, limits=Limits()))
    return made


def cpu_ms(work: Callable[[], Any], rounds: int) -> list[float]:
    costs = []
    for _ in range(rounds):
        begun = time.process_time()
        work()
        costs.append((time.process_time() - begun) * 1000)
    return costs


def report(what: str, costs: list[float], wanted: float) -> None:
    median = statistics.median(costs)
    verdict = "" if median <= wanted else "  (short of it)"
    print(f"{what:<44}{median:>8.1f}{min(costs):>8.1f}{max(costs):>8.1f}{wanted:>10.0f}{verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    due = schedules(options.count)
    facts = Facts(due)
    gc.collect()
    gc.freeze()

    print(f"{'CPU, milliseconds':<44}{'median':>8}{'least':>8}{'most':>8}{'at most':>10}")
    planned = cpu_ms(lambda: plan(facts, NOW), options.rounds)
    report(f"{options.count:,} schedules due at once, planned", planned, 150)

    plans = plan(facts, NOW).plans
    assert all(len(each.added) == 1 for each in plans), "each has one run"
    after = {each.schedule.id: each.schedule for each in plans}
    outcome = Outcome(Ending.SUCCEEDED, NOW + 5)
    ended = [
        Ended(
            each.added[0]._replace(state=State.RUNNING, attempt=1, worker="w", started_at=NOW),
            each.schedule.specification,
            outcome,
        )
        for each in plans
    ]
    gc.collect()
    gc.freeze()
    settled = cpu_ms(lambda: settle(ended, after, {}, {}, NOW + 6), options.rounds)
    report(f"{options.count:,} attempts settled", settled, 100)

    asleep_for_a_year: dict[str, dict[str, Any]] = {
        "every second, a year asleep": {"every": "1s"},
        "the same by cron, 100 caught up, in a window": {
            "cron": "* * * * * *",
            "seconds": True,
            "timezone": "America/New_York",
            "catch_up": "run_all",
            "only_between": "03:00-03:10",
        },
    }
    for what, fields in asleep_for_a_year.items():
        said = read_specification({"task": "work", **fields}, key="k", now=CREATED)
        asleep = Facts([create(1, "k", said, CREATED, active=0, limits=Limits())])
        costs = cpu_ms(lambda asleep=asleep: plan(asleep, CREATED + 365 * DAY), options.rounds)  # type: ignore[misc]
        report(what, costs, 10)


if __name__ == "__main__":
    main()
