"""Campaigns: many seeds, checked and summed up; one seed with the story of its violations; and the
search for planted bugs."""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from harness.sim.checker import Checker
from harness.sim.journal import keep_journal
from harness.sim.planted import BUGS
from harness.sim.story import story_of
from harness.sim.violation import Violation
from quarterjack.sim.database import Database
from quarterjack.sim.event_loop import Livelock
from quarterjack.sim.profile import Profile, draw_profile
from quarterjack.sim.simulation import Simulation

YEAR = 365.25 * 86400 * 10**6
WEEK = 7.0


class SeedResult(NamedTuple):
    seed: int
    simulated: int
    """Microseconds."""
    runs: int
    slots: int
    faults: Counter[str]
    calls: int
    hash: str
    violations: list[Violation]
    stories: list[str]


class CheckedSimulation(NamedTuple):
    """A finished simulation whose database is still open."""

    checker: Checker
    violations: list[Violation]


@contextmanager
def simulate(profile: Profile, database: Database | None = None) -> Iterator[CheckedSimulation]:
    log = logging.getLogger("quarterjack")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    simulation = Simulation(profile, database)
    try:
        keep_journal(simulation)
        livelocks: list[Violation] = []
        try:
            simulation.run()
        except Livelock as error:
            livelocks.append(Violation("C11", str(error)))
        checker = Checker(simulation)
        yield CheckedSimulation(checker, livelocks or checker.violations())
    finally:
        simulation.close()
        log.setLevel(level)


def check_seed(seed: int, days: float | None = None, *, stories: int = 3) -> SeedResult:
    with simulate(draw_profile(seed, days=days)) as (checker, violations):
        simulation = checker.simulation
        return SeedResult(
            seed,
            simulation.profile.duration + simulation.profile.recovery,
            len(checker.rows.runs),
            checker.slots_checked,
            Counter({str(fault): count for fault, count in simulation.faults.counts.items()}),
            len(simulation.record.calls),
            simulation.record.hash,
            violations,
            [story_of(checker, each) for each in violations[:stories]],
        )


def replay_command(seed: int, days: float | None) -> str:
    length = "" if days is None else f" DAYS={days:g}"
    return f"make sim-seed SEED={seed}{length}"


def find_bug(bug: str, seeds: Iterable[int]) -> SeedResult | None:
    """The result of the first seed with a violation while this bug is planted."""
    with BUGS[bug]():
        for seed in seeds:
            result = check_seed(seed, WEEK, stories=1)
            if result.violations:
                return result
    return None


def sum_up(results: Iterable[SeedResult], days: float | None, seconds: float) -> bool:
    """Prints the figures of many seeds; were there no violations?"""
    found = list(results)
    faults = sum((each.faults for each in found), Counter[str]())
    failed = [each for each in found if each.violations]
    print(f"seeds                  {len(found):>12,}   ({seconds:.0f} s)")
    print(f"simulated years        {sum(each.simulated for each in found) / YEAR:>12,.1f}")
    print(f"runs checked           {sum(each.runs for each in found):>12,}")
    print(f"slots checked          {sum(each.slots for each in found):>12,}")
    print(f"store calls            {sum(each.calls for each in found):>12,}")
    print(f"faults                 {faults.total():>12,}")
    for fault, count in faults.most_common():
        print(f"  {fault:<38} {count:>5,}")
    print(f"violations             {sum(len(each.violations) for each in failed):>12,}")
    for each in failed:
        command = replay_command(each.seed, days)
        print(f"\nseed {each.seed}: {len(each.violations)} violations; {command}")
        print("\n".join(each.stories))
    return not failed


def run_many(seeds: int, first: int, days: float | None, processes: int) -> bool:
    started_at = time.perf_counter()
    wanted = range(first, first + seeds)
    check = partial(check_seed, days=days)
    if processes == 1:
        results = [check(seed) for seed in wanted]
    else:
        with ProcessPoolExecutor(processes, initializer=_collect_garbage_seldom) as pool:
            # The longest first, so that none of them is left for the end.
            results = list(pool.map(check, sorted(wanted, key=_slots_per_day, reverse=True)))
    return sum_up(results, days, time.perf_counter() - started_at)


def _slots_per_day(seed: int) -> float:
    return draw_profile(seed).slots_per_day


def _collect_garbage_seldom() -> None:
    """A simulation keeps nearly all that it allocates, and ends soon."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def run_one(seed: int, days: float | None) -> bool:
    result = check_seed(seed, days, stories=20)
    print(draw_profile(seed, days=days))
    print(f"log hash {result.hash}")
    return sum_up([result], days, 0)


def run_selftest(seeds: int) -> bool:
    """Whether every planted bug is found."""
    missed = 0
    with ProcessPoolExecutor(2) as pool:
        searches = {bug: pool.submit(find_bug, bug, range(1, seeds + 1)) for bug in BUGS}
        for bug, search in searches.items():
            result = search.result()
            missed += result is None
            if result is None:
                print(f"{bug:<44} NOT FOUND by {seeds} seeds")
            else:
                rule, what = result.violations[0][:2]
                print(f"{bug:<44} seed {result.seed:>2}   {rule}: {what}", flush=True)
    print(f"{len(BUGS) - missed} of {len(BUGS)} planted bugs found")
    return not missed


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=200, help="the number of simulations")
    arguments.add_argument("--first", type=int, default=1, help="the first seed")
    arguments.add_argument("--seed", type=int, help="only this one, with stories of violations")
    arguments.add_argument("--days", type=float, help="the length of each simulation")
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--selftest", action="store_true", help="search for planted bugs")
    options = arguments.parse_args()
    if options.selftest:
        passed = run_selftest(options.seeds)
    elif options.seed is not None:
        passed = run_one(options.seed, options.days)
    else:
        passed = run_many(options.seeds, options.first, options.days, options.processes)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
