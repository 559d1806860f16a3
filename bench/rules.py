"""CPU time of the rules: 10,000 due schedules planned and then settled; and one schedule per second
after an outage of a year.

The schedules are of every kind, each with its own key and objects. A figure is the median over the
rounds. As in a long-running process, everything that is stored was loaded before and is excluded
from garbage collection (`gc.freeze`); decisions are not.
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
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import DAY, MINUTE, read_instant

CREATED = read_instant("2026-11-16T08:59:00Z", "created")
NOW = CREATED + MINUTE
DEFINITIONS: list[dict[str, Any]] = [
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
        specification = read_specification(
            DEFINITIONS[number % len(DEFINITIONS)], kinds=KINDS, key=key, now=CREATED
        )
        made.append(create(number, key, specification, CREATED, active=0, limits=Limits()))
    return made


def cpu_ms(work: Callable[[], Any], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        times.append((time.process_time() - started) * 1000)
    return times


def report(name: str, times: list[float], target: float) -> None:
    median = statistics.median(times)
    verdict = "" if median <= target else "  (missed)"
    print(f"{name:<44}{median:>8.1f}{min(times):>8.1f}{max(times):>8.1f}{target:>10.0f}{verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    due = schedules(options.count)
    facts = Facts(due)
    gc.collect()
    gc.freeze()

    print(f"{'CPU, milliseconds':<44}{'median':>8}{'min':>8}{'max':>8}{'target':>10}")
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

    after_a_year: dict[str, dict[str, Any]] = {
        "every second, after an outage of a year": {"every": "1s"},
        "the same by cron, 100 caught up, in a window": {
            "cron": "* * * * * *",
            "seconds": True,
            "timezone": "America/New_York",
            "catch_up": "run_all",
            "only_between": "03:00-03:10",
        },
    }
    for name, fields in after_a_year.items():
        specification = read_specification(
            {"task": "work", **fields}, kinds=KINDS, key="k", now=CREATED
        )
        facts = Facts([create(1, "k", specification, CREATED, active=0, limits=Limits())])
        times = cpu_ms(lambda facts=facts: plan(facts, CREATED + 365 * DAY), options.rounds)  # type: ignore[misc]
        report(name, times, 10)


if __name__ == "__main__":
    main()
