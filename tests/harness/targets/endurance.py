"""Very many no-op tasks through one pool: by how much the worker grows, and how many processes were
used. `PYTHONPATH=tests python -m harness.targets.endurance --count 100000`."""

from __future__ import annotations

import argparse
import asyncio
import gc
from pathlib import Path
from typing import NamedTuple

from harness.targets import tasks
from harness.targets.pools import RealPool

_AT_ONCE = 100
_WARM_UP = 1000
"""After so many, a worker has what it needs."""


class Endured(NamedTuple):
    grown_mib: float
    processes: int
    """So many were used, one after the other or beside each other."""
    failed: int


def endure(count: int, size: int = 2) -> Endured:
    pool = RealPool(tasks.registry, size)
    used: set[int] = set()
    failed = 0
    before = 0.0
    for number in range(0, count + _WARM_UP, _AT_ONCE):
        if number == _WARM_UP:
            gc.collect()
            before = resident_mib()
        calls = [pool.start("process") for _ in range(_AT_ONCE)]
        pool.wait(asyncio.wait(calls))
        answers = [each.result() for each in calls]
        failed += sum(each.error is not None for each in answers)
        used |= {each.result for each in answers}
    gc.collect()
    grown = resident_mib() - before
    pool.close()
    return Endured(grown, len(used), failed)


def resident_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    grown_mib, processes, failed = endure(parser.parse_args().count)
    print(f"grown by {grown_mib:.1f} MiB, {processes} processes, {failed} failed")


if __name__ == "__main__":
    main()
