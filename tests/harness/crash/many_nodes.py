"""Many nodes on one PostgreSQL, as real processes, checked against the same ledger."""

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

from harness.crash.kills import FAILPOINTS, PROGRAM, RealService, check_history, wait_for
from harness.store.server import Server, server
from quarterjack.times.instants import SECOND

BETWEEN_WRITES = [f"group.written:{hit}" for hit in (4, 7, 10, 15, 21)]
"""Between two of the writes that are sent to PostgreSQL together."""
STOP_MARGIN = 0.05
"""The part of a lease that the first renewal of a resumed process may take, among twenty others."""


class ManyNodes(RealService):
    def __init__(self, folder: Path, on: Server | None = None, **schedules: dict[str, Any]) -> None:
        self.server = on or server()
        self.schema = f"s{uuid4().hex[:12]}"
        super().__init__(folder, **schedules)
        self.reach(self.server.port)

    def reach(self, port: int) -> None:
        """The port for new nodes, which may be that of a proxy."""
        server_url = self.server.url.replace(f":{self.server.port}/", f":{port}/")
        self.url = f"{server_url}?schema={self.schema}"
        self.environment["QUARTERJACK_DATABASE_URL"] = self.url

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        async def run() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(self.server.url, timeout=20)
            try:
                await connection.execute(f"set search_path = {self.schema}")
                return [tuple(row) for row in await connection.fetch(statement)]
            finally:
                await connection.close()

        try:
            return asyncio.run(run())
        except asyncpg.UndefinedTableError:
            return []

    def freeze(self, process: subprocess.Popen[bytes]) -> None:
        """Even within a transaction: PostgreSQL ends that after a timeout."""
        process.send_signal(signal.SIGSTOP)

    def list_nodes(self) -> list[dict[str, Any]]:
        command = [*PROGRAM, "nodes", "--database", self.url, "--json"]
        return list(json.loads(subprocess.check_output(command))["items"])

    def alive(self) -> list[subprocess.Popen[bytes]]:
        return [process for process in self.processes if process.poll() is None]

    def _all_started(self) -> bool:
        logs = [self.log_of(n) for n, each in enumerate(self.processes) if each.poll() is None]
        return all(" up " in log.read_text() for log in logs)

    def finish(self, seconds: float = 60) -> Counter[str]:
        """Let them catch up, stop them all, and check the history."""
        wait_for(self._all_started, seconds, "all nodes have started")
        wait_for(self.has_caught_up, seconds, "everything is caught up")
        self.stopped_at = time.time_ns() // 1000
        alive = self.alive()
        for process in alive:
            process.terminate()
        for process in alive:
            assert process.wait(30) == 0, self.log()[-3000:]
        return check_history(self)


def wait_for_more(service: RealService, count: int, seconds: float = 30) -> None:
    before = service.succeeded()
    wait_for(lambda: service.succeeded() >= before + count, seconds, f"{count} more succeed")


def killed_at_each_step(service: ManyNodes, hits: int = 1) -> Counter[str]:
    """Two nodes of concurrency 1 stay alive; a third is killed at each failpoint in turn."""
    service.up("up", "-c", "1")
    service.up("up", "-c", "1")
    failpoints = [f"{each}:{hit}" for each in FAILPOINTS for hit in range(1, hits + 1)]
    for failpoint in (*failpoints, *BETWEEN_WRITES):
        third = service.start(failpoint)
        assert third.wait(60) == -signal.SIGKILL, f"{failpoint}: {service.log()[-3000:]}"
    wait_for_more(service, 2)
    return service.finish()


def killed_at_random(service: ManyNodes, kills: int, seed: int) -> Counter[str]:
    """One of three, at random instants; another one takes its place."""
    generator = random.Random(seed)
    for _ in range(3):
        service.up()
    for _ in range(kills):
        time.sleep(generator.uniform(0.1, 1.2))
        victim = generator.choice(service.alive())
        victim.kill()
        victim.wait(10)
        while len(service.alive()) < 3:
            service.start()
    wait_for_more(service, 3)
    return service.finish()


def gap_after_a_kill(service: ManyNodes) -> float:
    """Kills one of two nodes that plan every half second. Returns the longest time between two
    executed slots, in seconds."""
    service.declare({"tick": {"every": "500ms", "command": service.work(0)}})
    first = service.up()
    service.up()
    wait_for(lambda: service.succeeded("tick") >= 4, 20, "both work")
    first.kill()
    killed_at = time.time_ns() // 1000
    wait_for(lambda: service.lines()[-1].slot > killed_at + 3 * SECOND, 20, "the other continues")
    slots = sorted({line.slot for line in service.lines()})
    return max(after - before for before, after in pairwise(slots)) / SECOND


def taken_over_after(service: ManyNodes, lease: float) -> float:
    """Kills the worker of a run. Returns the seconds until another one has started it."""
    once = {"after": "1s", "command": service.work(2 * lease), "execution": "at_least_once"}
    service.declare({"long": once}, lease=f"{lease}s")
    service.up("scheduler")
    first = service.up("worker", "-c", "1")
    wait_for(service.lines, 20, "it has started")
    service.up("worker", "-c", "1")
    first.kill()
    killed_at = time.time_ns() // 1000
    wait_for(lambda: len(service.lines()) == 2, 20, "it has started again")
    second = service.lines()[1]
    assert (second.what, second.attempt) == ("start", 2)
    return (second.wall - killed_at) / SECOND


def suspended_shortly(
    service: ManyNodes,
    workers: int,
    suspensions: int,
    seed: int,
    lease: float,
    margin: float = STOP_MARGIN,
) -> int:
    """Suspends workers with a long run each again and again, always for less than what is left of a
    lease after its renewal. Returns how many runs they lost."""
    long = {"after": "1s", "command": service.work(3600)}
    service.declare({f"long {n}": long for n in range(workers)}, lease=f"{lease}s", grace="1s")
    service.up("scheduler")
    nodes = [service.up("worker", "-c", "1") for _ in range(workers)]
    wait_for(lambda: len(service.lines()) == workers, 60, "each has started")
    generator = random.Random(seed)
    longest = (0.7 - margin) * lease
    due = [(generator.uniform(0, lease), number, False) for number in range(workers)]
    heapq.heapify(due)
    started_at, suspended = time.monotonic(), 0
    while due:
        at, number, resumes = heapq.heappop(due)
        time.sleep(max(0.0, started_at + at - time.monotonic()))
        if resumes:
            nodes[number].send_signal(signal.SIGCONT)
            heapq.heappush(due, (at + generator.uniform(0.3, 0.5 * lease), number, False))
        elif suspended < suspensions:
            nodes[number].send_signal(signal.SIGSTOP)
            suspended += 1
            heapq.heappush(due, (at + longest * generator.random() ** 0.5, number, True))
    ((lost,),) = service.query("select count(*) from runs where losses > 0 or attempt > 1")
    assert all(node.poll() is None for node in nodes), service.log()[-2000:]
    return int(lost)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hits", type=int, default=1)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--stops", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.hits:
        total = _in_new_folder(lambda service: killed_at_each_step(service, options.hits))
        print(f"one of three killed at each step, {options.hits} deep: {dict(total)}", flush=True)
    left, number = options.kills, options.seed
    total = Counter()
    while left > 0:
        kills = min(left, 50)
        total += _in_new_folder(partial(killed_at_random, kills=kills, seed=number))
        left, number = left - kills, number + 1
        print(f"one of three killed, {options.kills - left} times: {dict(total)}", flush=True)
    if options.kills:
        total = _in_new_folder(_killed_with_long_leases)
        print(f"the same 20 times with leases of 10 s: {dict(total)}", flush=True)
    print(f"after a planner was killed: {_in_new_folder(gap_after_a_kill):.1f} s between slots")
    seconds = _in_new_folder(partial(taken_over_after, lease=10))
    print(
        f"the run of a killed worker started elsewhere after {seconds:.1f} s of a lease of 10 s",
        flush=True,
    )
    if options.stops:
        stopping = {
            "workers": 20,
            "suspensions": options.stops,
            "seed": options.seed,
            "lease": 10,
        }
        lost = _in_new_folder(partial(suspended_shortly, **stopping))
        print(f"20 workers suspended {options.stops} times: {lost} runs lost")


def _killed_with_long_leases(service: ManyNodes) -> Counter[str]:
    service.declare(service.declared, lease="10s")
    return killed_at_random(service, kills=20, seed=1)


def _in_new_folder(campaign: Callable[[ManyNodes], Any]) -> Any:
    with tempfile.TemporaryDirectory() as name:
        service = ManyNodes(Path(name))
        try:
            return campaign(service)
        finally:
            service.end()


if __name__ == "__main__":
    main()
