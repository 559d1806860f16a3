"""Measuring and printing, shared by the benchmarks of the engine."""

from __future__ import annotations

import asyncio
import logging
import math
import multiprocessing
import os
import statistics
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple


class Delays(NamedTuple):
    """How long after its slot each run started, and how many runs there were."""

    p50_ms: float
    p99_ms: float
    ran: int


class Idle(NamedTuple):
    """The cost of an idle process."""

    cpu_seconds: float
    statements: int
    resident_mb: float


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """On the disk of the current folder: one in memory would make every figure too good."""
    with TemporaryDirectory(dir=".", prefix="bench-") as name:
        yield Path(name)


def apart(measure: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """In a process of its own, so that no measurement affects the next one."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh, initializer=logging.disable) as pool:
        return pool.submit(_measured, measure, *values, **named).result()


def _measured(measure: Callable[..., Any], *values: Any, **named: Any) -> Any:
    answer = measure(*values, **named)
    return asyncio.run(answer) if isinstance(answer, Coroutine) else answer


def sync_ms(folder: Path) -> float:
    """The median of an fdatasync of 4 KiB, because the speed of a disk varies over time."""
    descriptor = os.open(folder / "sync", os.O_CREAT | os.O_RDWR)
    costs = []
    for _ in range(50):
        os.write(descriptor, b"x" * 4096)
        started = time.perf_counter()
        os.fdatasync(descriptor)
        costs.append(time.perf_counter() - started)
    os.close(descriptor)
    return statistics.median(costs) * 1000


def cpu_seconds_of(process: int) -> float:
    """Of another process so far, with all its threads."""
    # The id of Linux's CPU clock of a process is computed from its pid. /proc has the same figure
    # in steps of 10 ms.
    return time.clock_gettime((~process << 3) | 2)


def cpu_seconds_of_server(process: int | None) -> float:
    """Of a server and all processes that it has started so far."""
    if process is None:
        return 0.0
    ticks = sum(_ticks(process, 11, 15))
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if _ticks(int(each.name), 1, 2) == [process]:
                ticks += sum(_ticks(int(each.name), 11, 13))
        except OSError:  # it has ended, and is included in the server's figure now
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(process: int, first: int, end: int) -> list[int]:
    """Fields of `/proc/PID/stat` behind the name."""
    numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return [int(number) for number in numbers[first:end]]


def resident_mb_of(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def delays(seconds: Iterable[float]) -> Delays:
    late = sorted(seconds)
    if not late:
        return Delays(math.nan, math.nan, 0)
    p50, p99 = (late[int(len(late) * share)] * 1000 for share in (0.5, 0.99))
    return Delays(p50, p99, len(late))


def shown(values: Sequence[float], digits: int) -> str:
    """The median, minimum and maximum."""
    if not values:
        return ""
    median, least, most = (
        f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values))
    )
    return median if least == most else f"{median} ({least} to {most})"


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Row by row, because some take minutes."""
    for row in chain((head, ["---"] * len(head)), rows):
        print(f"| {' | '.join(row)} |", flush=True)
