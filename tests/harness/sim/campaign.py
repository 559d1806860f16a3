"""Campaigns: many seeds, judged, with figures; one seed with its story; and the planted bugs."""

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

from harness.sim.checker import Judge, Violation
from harness.sim.journal import keep_journal
from harness.sim.planted import BUGS
from harness.sim.story import log_fields
from quarterjack.sim.database import Database
from quarterjack.sim.loop import NeverAtRest
from quarterjack.sim.profile import Profile, draw_profile
from quarterjack.sim.world import World

YEAR = 365.25 * 86400 * 10**6
WEEK = 7.0


class Verdict(NamedTuple):
    """What one seed came to."""

    seed: int
    lived: int
    firings: int
    slots: int
    faults: Counter[str]
    verbs: int
    hash: str
    violations: list[Violation]
    stories: list[str]


class Lived(NamedTuple):
    """A world that has been lived, before its database is closed."""

    judge: Judge
    violations: list[Violation]


@contextmanager
def lived(profile: Profile, database: Database | None = None) -> Iterator[Lived]:
    """Live one world, and judge it."""
    log = logging.getLogger("quarterjack")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    world = World(profile, database)
    try:
        keep_journal(world)
        restless: list[Violation] = []
        try:
            world.live()
        except NeverAtRest as error:
            restless.append(Violation("C11", str(error)))
        judge = Judge(world)
        yield Lived(judge, restless or judge.violations())
    finally:
        world.close()
        log.setLevel(level)


def judged(seed: int, days: float | None = None, *, tells: int = 3) -> Verdict:
    """What one world comes to."""
    with lived(draw_profile(seed, days=days)) as (judge, violations):
        world = judge.world
        return Verdict(
            seed,
            world.profile.lasts + world.profile.heals_for,
            len(judge.lives.runs),
            judge.slots_judged,
            Counter({str(fault): count for fault, count in world.faults.counts.items()}),
            len(world.record.moments),
            world.record.hash,
            violations,
            [log_fields(judge, each) for each in violations[:tells]],
        )


def replay(seed: int, days: float | None) -> str:
    length = "" if days is None else f" DAYS={days:g}"
    return f"make sim-seed SEED={seed}{length}"


def found_by(bug: str, seeds: Iterable[int]) -> Verdict | None:
    """The first seed that notices a planted bug."""
    with BUGS[bug]():
        for seed in seeds:
            verdict = judged(seed, WEEK, tells=1)
            if verdict.violations:
                return verdict
    return None


def sum_up(verdicts: Iterable[Verdict], days: float | None, seconds: float) -> bool:
    """Print what came of many seeds; did nothing go wrong?"""
    found = list(verdicts)
    faults = sum((each.faults for each in found), Counter[str]())
    guilty = [each for each in found if each.violations]
    print(f"seeds                  {len(found):>12,}   ({seconds:.0f} s)")
    print(f"simulated years        {sum(each.lived for each in found) / YEAR:>12,.1f}")
    print(f"firings judged         {sum(each.firings for each in found):>12,}")
    print(f"slots judged           {sum(each.slots for each in found):>12,}")
    print(f"store verbs            {sum(each.verbs for each in found):>12,}")
    print(f"faults                 {faults.total():>12,}")
    for fault, count in faults.most_common():
        print(f"  {fault:<34} {count:>9,}")
    print(f"violations             {sum(len(each.violations) for each in guilty):>12,}")
    for each in guilty:
        print(f"\nseed {each.seed}: {len(each.violations)} violations; {replay(each.seed, days)}")
        print("\n".join(each.stories))
    return not guilty


def run_many(seeds: int, first: int, days: float | None, processes: int) -> bool:
    began = time.perf_counter()
    wanted = range(first, first + seeds)
    live = partial(judged, days=days)
    if processes == 1:
        verdicts = [live(seed) for seed in wanted]
    else:
        with ProcessPoolExecutor(processes, initializer=_look_for_garbage_seldom) as pool:
            # The longest lives first, so that none of them is left for the end.
            verdicts = list(pool.map(live, sorted(wanted, key=_firings_a_day, reverse=True)))
    return sum_up(verdicts, days, time.perf_counter() - began)


def _firings_a_day(seed: int) -> float:
    return draw_profile(seed).a_day


def _look_for_garbage_seldom() -> None:
    """A world keeps nearly all that it makes, and ends soon."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def run_one(seed: int, days: float | None) -> bool:
    verdict = judged(seed, days, tells=20)
    print(draw_profile(seed, days=days))
    print(f"log hash {verdict.hash}")
    return sum_up([verdict], days, 0)


def run_selftest(seeds: int) -> bool:
    """Every planted bug is noticed."""
    missed = 0
    with ProcessPoolExecutor(2) as pool:
        open_maintenance_reader = {
            bug: pool.submit(found_by, bug, range(1, seeds + 1)) for bug in BUGS
        }
        for bug, search in open_maintenance_reader.items():
            verdict = search.result()
            missed += verdict is None
            if verdict is None:
                print(f"{bug:<44} NOT FOUND by {seeds} seeds")
            else:
                rule, what = verdict.violations[0][:2]
                print(f"{bug:<44} seed {verdict.seed:>2}   {rule}: {what}", flush=True)
    print(f"{len(BUGS) - missed} of {len(BUGS)} planted bugs found")
    return not missed


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--seeds", type=int, default=200, help="how many worlds")
    arguments.add_argument("--first", type=int, default=1, help="the first seed")
    arguments.add_argument("--seed", type=int, help="only this one, with its story")
    arguments.add_argument("--days", type=float, help="how long each world lasts")
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--selftest", action="store_true", help="look for the planted bugs")
    options = arguments.parse_args()
    if options.selftest:
        fine = run_selftest(options.seeds)
    elif options.seed is not None:
        fine = run_one(options.seed, options.days)
    else:
        fine = run_many(options.seeds, options.first, options.days, options.processes)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
