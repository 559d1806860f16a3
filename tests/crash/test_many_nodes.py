"""Schedulers and workers as real processes, on a real PostgreSQL, that are really killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from crash.harness import LEDGER, PROGRAM, wait_for
from quarterjack.store.reads import Reads
from quarterjack.times.instants import SECOND
from store.server import server


class Nodes:
    """Any number of processes on one database."""

    def __init__(self, folder: Path, schedules: dict[str, Any], **settings: Any) -> None:
        self.folder = folder
        self.url = f"{server().url}?schema=s{uuid4().hex[:12]}"
        self.ledger = folder / "ledger.jsonl"
        said = {"grace": "3s", **settings, "schedules": schedules}
        (folder / "quarterjack.yaml").write_text(json.dumps(said))
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, *what: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "QUARTERJACK_DATABASE_URL": self.url}
        name = self.folder / f"log{len(self.processes)}.txt"
        command = [*PROGRAM, what[0], "quarterjack.yaml", "--port", "0", *what[1:]]
        with name.open("wb") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stderr=log)
        self.processes.append(process)
        wait_for(lambda: " up " in name.read_text(), 20, f"{what} is up: {name.read_text()}")
        return process

    def log(self, number: int) -> str:
        return (self.folder / f"log{number}.txt").read_text()

    def lines(self, what: str) -> list[dict[str, Any]]:
        if not self.ledger.exists():
            return []
        found = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [line for line in found if line["what"] == what]

    def listed(self) -> list[dict[str, Any]]:
        """What a person is shown of them."""
        command = [*PROGRAM, "nodes", "--database", self.url, "--json"]
        return list(json.loads(subprocess.check_output(command))["items"])

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def work(folder: Path, seconds: float) -> list[str]:
    ledger = str(folder / "ledger.jsonl")
    return [sys.executable, "-S", "-E", str(LEDGER), ledger, str(seconds), "0"]


def slots_of(nodes: Nodes, which: str) -> list[int]:
    reads = Reads(nodes.url)
    try:
        return sorted(found.run.slot for found in reads.runs(which, limit=1000))
    finally:
        reads.close()


@pytest.mark.mission("H1", "H6")
def test_schedulers_plan_and_workers_work_apart(tmp_path: Path):
    nodes = Nodes(tmp_path, {"tick": {"every": "1s", "command": work(tmp_path, 0)}})
    try:
        nodes.start("scheduler")
        nodes.start("scheduler")
        nodes.start("worker", "-c", "2")
        nodes.start("worker", "-c", "2")
        wait_for(lambda: len(nodes.lines("end")) >= 4, 20, "four runs end")
        for process in nodes.processes:
            process.terminate()
        assert [process.wait(20) for process in nodes.processes] == [0, 0, 0, 0]
    finally:
        nodes.close()

    started = [(line["key"], line["slot"]) for line in nodes.lines("start")]
    assert len(started) == len(set(started)), "each slot was run once"
    assert "started run=" not in nodes.log(0) + nodes.log(1), "schedulers run nothing"


def test_nodes_are_listed_until_they_stop_or_die(tmp_path: Path):
    nodes = Nodes(tmp_path, {"tick": {"every": "1h", "command": work(tmp_path, 0)}})
    try:
        nodes.start("scheduler")
        doomed, leaving = nodes.start("worker"), nodes.start("worker")
        shown = nodes.listed()
        assert [(each["plans"], each["works"]) for each in shown] == [
            (True, False),
            (False, True),
            (False, True),
        ]
        assert len({each["edition"] for each in shown}) == 1
        assert all(abs(each["ahead_seconds"]) < 1 for each in shown)

        doomed.kill()
        leaving.terminate()
        leaving.wait(20)
        assert len(nodes.listed()) == 2, "one has left, and one may still be there"
        wait_for(lambda: len(nodes.listed()) == 1, 30, "the dead one is not seen any more")
    finally:
        nodes.close()


@pytest.mark.fault("F1")
def test_after_a_planner_is_killed_the_other_leaves_no_gap(tmp_path: Path):
    nodes = Nodes(tmp_path, {"tick": {"every": "500ms", "command": work(tmp_path, 0)}})
    try:
        first = nodes.start("up")
        nodes.start("up")
        wait_for(lambda: len(nodes.lines("end")) >= 4, 20, "it works")
        first.kill()
        killed_at = time.time_ns() // 1000
        wait_for(lambda: nodes.lines("end")[-1]["wall"] > killed_at + 3 * SECOND, 20, "it goes on")
        slots = slots_of(nodes, "tick")
    finally:
        nodes.close()

    gaps = [after - before for before, after in pairwise(slots)]
    assert max(gaps) < 5 * SECOND


@pytest.mark.fault("F6")
def test_the_run_of_a_lost_worker_goes_on_elsewhere(tmp_path: Path):
    """Within 12 s of a lease of 10 s; here both are shorter."""
    once = {"after": "1s", "command": work(tmp_path, 4), "execution": "at_least_once"}
    nodes = Nodes(tmp_path, {"long": once}, lease="2s")
    try:
        nodes.start("scheduler")
        doomed = nodes.start("worker", "-c", "1")
        wait_for(lambda: nodes.lines("start"), 20, "it starts")
        nodes.start("worker", "-c", "1")
        doomed.send_signal(signal.SIGKILL)
        killed_at = time.time_ns() // 1000
        wait_for(lambda: len(nodes.lines("start")) == 2, 20, "it is started again")
        again = nodes.lines("start")[1]
        wait_for(lambda: nodes.lines("end"), 20, "it ends")
    finally:
        nodes.close()

    assert again["attempt"] == 2
    assert again["wall"] - killed_at < 4 * SECOND
