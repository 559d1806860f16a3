"""Many nodes on one PostgreSQL, as real processes; judged by the same ledger as one on SQLite."""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg

from harness.crash.kills import PLACES, PROGRAM, House, judge, wait_for
from harness.store.server import Server, server
from quarterjack.times.instants import SECOND

BETWEEN_WRITES = [f"group.written:{hit}" for hit in (4, 7, 10, 15, 21)]
"""On PostgreSQL writes are sent together; what dies between two of them dies here."""
STOP_MARGIN = 0.05
"""Which part of a lease a renewal may take when a process goes on, with twenty others beside it."""


class ManyNodes(House):
    """Any number of processes on one database."""

    def __init__(self, folder: Path, on: Server | None = None, **schedules: dict[str, Any]) -> None:
        self.server = on or server()
        self.schema = f"s{uuid4().hex[:12]}"
        super().__init__(folder, **schedules)
        self.reach(self.server.port)

    def reach(self, port: int) -> None:
        """From now on nodes find the server there: a proxy may stand before it."""
        there = self.server.url.replace(f":{self.server.port}/", f":{port}/")
        self.url = f"{there}?schema={self.schema}"
        self.environment["QUARTERJACK_DATABASE_URL"] = self.url

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        async def caller() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.server.url, timeout=20)
            try:
                await connection.execute(f"set search_path = {self.schema}")
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close()

        try:
            return asyncio.run(caller())
        except asyncpg.UndefinedTableError:
            return []

    def freeze(self, process: subprocess.Popen[bytes]) -> None:
        """Wherever it is: PostgreSQL takes its transaction from it after a while."""
        process.send_signal(signal.SIGSTOP)

    def listed(self) -> list[dict[str, Any]]:
        """What a person is shown of them."""
        command = [*PROGRAM, "nodes", "--database", self.url, "--json"]
        return list(json.loads(subprocess.check_output(command))["items"])

    def alive(self) -> list[subprocess.Popen[bytes]]:
        return [process for process in self.processes if process.poll() is None]

    def _all_up(self) -> bool:
        logs = [self.log_of(n) for n, each in enumerate(self.processes) if each.poll() is None]
        return all(" up " in log.read_text() for log in logs)

    def finish(self, seconds: float = 60) -> Counter[str]:
        """Catch up, stop everybody, and be judged."""
        wait_for(self._all_up, seconds, "those that were started last are up")
        wait_for(self.has_caught_up, seconds, "everything is caught up")
        self.stopped_at = time.time_ns() // 1000
        staying = self.alive()
        for process in staying:
            process.terminate()
        for process in staying:
            assert process.wait(30) == 0, self.log()[-3000:]
        return judge(self)


def wait_for_more(service: House, count: int, seconds: float = 30) -> None:
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + count, seconds, f"{count} more succeed")


def killed_at_each_step(service: ManyNodes, hits: int = 1) -> Counter[str]:
    """Two nodes stay, which leave work to others; a third dies at every place, one after the
    other."""
    service.up("up", "-c", "1")
    service.up("up", "-c", "1")
    places = [f"{place}:{hit}" for place in PLACES for hit in range(1, hits + 1)]
    for place in (*places, *BETWEEN_WRITES):
        doomed = service.start(place)
        assert doomed.wait(60) == -signal.SIGKILL, f"{place}: {service.log()[-3000:]}"
    wait_for_more(service, 2)
    return service.finish()


def killed_at_random(service: ManyNodes, kills: int, seed: int) -> Counter[str]:
    """One of three, at random instants; another one takes its place."""
    return harmed_at_random(service, kills, seed, _kill)


def harmed_at_random(
    service: ManyNodes,
    times: int,
    seed: int,
    harm: Callable[[ManyNodes, random.Random], None],
) -> Counter[str]:
    chance = random.Random(seed)
    for _ in range(3):
        service.up()
    for _ in range(times):
        time.sleep(chance.uniform(0.1, 1.2))
        harm(service, chance)
        while len(service.alive()) < 3:
            service.start()
    wait_for_more(service, 3)
    return service.finish()


def _kill(service: ManyNodes, chance: random.Random) -> None:
    victim = chance.choice(service.alive())
    victim.kill()
    victim.wait(10)


def gap_after_a_kill(service: ManyNodes) -> float:
    """One of two nodes that plan every half second is killed: the longest time between two slots
    that were started, in seconds."""
    service.declare({"tick": {"every": "500ms", "command": service.work(0)}})
    first = service.up()
    service.up()
    wait_for(lambda: service.succeeded("tick") >= 4, 20, "it works")
    first.kill()
    killed_at = time.time_ns() // 1000
    wait_for(lambda: service.lines()[-1].slot > killed_at + 3 * SECOND, 20, "it goes on")
    slots = sorted({line.slot for line in service.lines()})
    return max(after - before for before, after in pairwise(slots)) / SECOND


def taken_over_after(service: ManyNodes, lease: float) -> float:
    """How long after its worker was killed a run is started by another, in seconds."""
    once = {"after": "1s", "command": service.work(2 * lease), "execution": "at_least_once"}
    service.declare({"long": once}, lease=f"{lease}s")
    service.up("scheduler")
    doomed = service.up("worker", "-c", "1")
    wait_for(service.lines, 20, "it starts")
    service.up("worker", "-c", "1")
    doomed.kill()
    killed_at = time.time_ns() // 1000
    wait_for(lambda: len(service.lines()) == 2, 20, "it is started again")
    again = service.lines()[1]
    assert (again.what, again.attempt) == ("start", 2)
    return (again.wall - killed_at) / SECOND


def stopped_short(
    service: ManyNodes,
    workers: int,
    stops: int,
    seed: int,
    lease: float,
    margin: float = STOP_MARGIN,
) -> int:
    """Workers with a long run each are stopped again and again, never for as long as a lease less
    its renewal. How many of their runs were taken from them."""
    long = {"after": "1s", "command": service.work(3600)}
    service.declare({f"long {n}": long for n in range(workers)}, lease=f"{lease}s", grace="1s")
    service.up("scheduler")
    nodes = [service.up("worker", "-c", "1") for _ in range(workers)]
    wait_for(lambda: len(service.lines()) == workers, 60, "each works")
    chance = random.Random(seed)
    longest = (0.7 - margin) * lease
    due = [(chance.uniform(0, lease), number, False) for number in range(workers)]
    heapq.heapify(due)
    begun, stopped = time.monotonic(), 0
    while due:
        at, number, goes_on = heapq.heappop(due)
        time.sleep(max(0.0, begun + at - time.monotonic()))
        if goes_on:
            nodes[number].send_signal(signal.SIGCONT)
            heapq.heappush(due, (at + chance.uniform(0.3, 0.5 * lease), number, False))
        elif stopped < stops:
            nodes[number].send_signal(signal.SIGSTOP)
            stopped += 1
            heapq.heappush(due, (at + longest * chance.random() ** 0.5, number, True))
    ((taken,),) = service.query("select count(*) from runs where losses > 0 or attempt > 1")
    assert all(node.poll() is None for node in nodes), service.log()[-2000:]
    return int(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=1)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--stops", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.hits:
        total = _tried(lambda service: killed_at_each_step(service, options.hits))
        print(f"one of three killed at each step, {options.hits} deep: {dict(total)}", flush=True)
    left, number = options.kills, options.seed
    total = Counter()
    while left > 0:
        kills = min(left, 50)
        total += _tried(partial(killed_at_random, kills=kills, seed=number))
        left, number = left - kills, number + 1
        print(f"one of three killed, {options.kills - left} times: {dict(total)}", flush=True)
    if options.kills:
        total = _tried(_killed_with_long_leases)
        print(f"the same 20 times with leases of 10 s: {dict(total)}", flush=True)
    print(f"after one of two planners is killed: {_tried(gap_after_a_kill):.1f} s between slots")
    late = _tried(partial(taken_over_after, lease=10))
    print(
        f"the run of a killed worker is elsewhere after {late:.1f} s of a lease of 10 s", flush=True
    )
    if options.stops:
        stopping = {"workers": 20, "stops": options.stops, "seed": options.seed, "lease": 10}
        taken = _tried(partial(stopped_short, **stopping))
        print(f"20 workers stopped {options.stops} times: {taken} runs taken from them")


def _killed_with_long_leases(service: ManyNodes) -> Counter[str]:
    service.declare(service.declared, lease="10s")
    return killed_at_random(service, kills=20, seed=1)


def _tried(campaign: Callable[[ManyNodes], Any]) -> Any:
    with tempfile.TemporaryDirectory() as name:
        service = ManyNodes(Path(name))
        try:
            return campaign(service)
        finally:
            service.end()


if __name__ == "__main__":
    main()
