"""The configuration of the third seed, translated word by word, as separate processes on
PostgreSQL."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import PROGRAM, wait_for
from harness.crash.many_nodes import ManyNodes
from quarterjack.times.instants import SECOND, read_instant

pytestmark = pytest.mark.unmeasured
INSTANCE = """
from datetime import time

from quarterjack import Daily, Err, Every, Ok, Quarterjack

app = Quarterjack(preset="horsies", enabled=True, check_interval=1)

@app.task("cleanup_old_data")
def cleanup_old_data() -> Ok[int] | Err: ...

@app.task("generate_report")
def generate_report() -> Ok[str] | Err:
    return Ok("done")

@app.task("sync_data")
async def sync_data(source: str, *, deep: bool = False) -> Ok[dict[str, object]] | Err:
    return Ok({"source": source, "deep": deep})

@app.task("send_report")
def send_report() -> Ok[None] | Err:
    return Err("no_recipients", "nobody wants it", retry=False)

app.schedule("daily-cleanup", "cleanup_old_data", Daily(time(3, 0, 0)), timezone="UTC")
app.schedule("daily-report", "generate_report", Daily(time(3, 0, 0)))
app.schedule("hourly-sync", "sync_data", Every(hours=1), args=["crm"], catch_up="run_all")
app.schedule("morning-report", "send_report", Daily(time(9, 0, 0)), timezone="America/New_York")
# The same with intervals that a test can wait for.
app.schedule("report", "generate_report", Every(seconds=1))
app.schedule(
    "sync", "sync_data", Every(seconds=1), args=["crm"], kwargs={"deep": True}, catch_up="run_all"
)
app.schedule("failing", "send_report", Every(seconds=1))
"""
OPEN_RUNS = "select 1 from runs where finished_at is null"
BAD = """
app.schedule("bad", "nonexistent_task", Daily(time(3, 0, 0)), queue="other")
app.schedule("incomplete", "sync_data", Every(hours=1), kwargs={"deep": True})
"""


class Deployment(ManyNodes):
    """`quarterjack COMMAND myapp.instance:app` on a schema of its own."""

    def write(self, text: str) -> None:
        package = self.folder / "myapp"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").touch()
        (package / "instance.py").write_text(text)

    def runs(self) -> dict[str, list[dict[str, Any]]]:
        """By the keys of their schedules, the newest last."""
        command = [*PROGRAM, "runs", "list", "--limit", "500", "--json", "--database", self.url]
        runs: dict[str, list[dict[str, Any]]] = {}
        for run in reversed(json.loads(subprocess.check_output(command))["items"]):
            runs.setdefault(run["schedule"], []).append(run)
        return runs

    def has_ended(self, key: str, count: int) -> bool:
        ended = "select count(*) from runs join schedules on id = schedule_id"
        found = self.query(f"{ended} where key = '{key}' and finished_at is not null")
        return bool(found) and found[0][0] >= count


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    deployment = Deployment(tmp_path)
    deployment.source = "myapp.instance:app"
    deployment.write(INSTANCE)
    yield deployment
    deployment.end()


@pytest.mark.mission("H1", "H2", "H3", "H8", "H10", "H11")
def test_the_third_seeds_program_runs_with_a_scheduler_and_a_worker(deployment: Deployment):
    scheduler = deployment.start(what=("scheduler", "--loglevel=INFO"))
    worker = deployment.start(what=("worker", "--loglevel=INFO", "--queues", "default"))
    for key in ("report", "sync", "failing"):
        wait_for(partial(deployment.has_ended, key, 1), 30, f"a run of {key}")
    deployment.stop(scheduler)
    stopped = time.monotonic()
    wait_for(lambda: time.monotonic() > stopped + 2.5, 30, "slots were missed")
    again = deployment.start(what=("scheduler", "--loglevel=INFO"))
    wait_for(lambda: deployment.query("select 1 from slots_not_run"), 30, "caught up")
    deployment.stop(again)
    wait_for(lambda: not deployment.query(OPEN_RUNS), 30, "all runs have ended")
    worker.send_signal(signal.SIGINT)
    assert worker.wait(30) == 0, deployment.log()

    runs = deployment.runs()
    first = {key: each[0] for key, each in runs.items()}
    assert (first["report"]["state"], first["report"]["result"]) == ("succeeded", "done")
    assert first["sync"]["result"] == {"source": "crm", "deep": True}
    assert (first["failing"]["state"], first["failing"]["code"]) == ("failed", "no_recipients")
    gaps = slot_distances(runs["sync"])
    assert len(gaps) >= 2
    assert set(gaps) == {SECOND}, "each missed slot was caught up"
    gaps = slot_distances(runs["report"])
    assert max(gaps) >= 2 * SECOND, "only the newest was"
    assert {gap % SECOND for gap in gaps} == {0}, "slots stay aligned"


def slot_distances(runs: list[dict[str, Any]]) -> list[int]:
    slots = [read_instant(run["slot"], "slot") for run in runs]
    return [later - earlier for earlier, later in pairwise(slots)]


@pytest.mark.mission("H3", "H4")
def test_schedules_without_their_task_queue_or_arguments_fail_the_start(deployment: Deployment):
    deployment.write(INSTANCE + BAD)

    scheduler = deployment.start(what=("scheduler", "--loglevel=INFO"))

    assert scheduler.wait(30) == 1
    line = INSTANCE.count("\n") + 2
    bad = f'  - myapp/instance.py:{line}: schedule "bad": '
    assert f'{bad}task "nonexistent_task" is not registered' in deployment.log()
    assert f'{bad}queue "other" is not declared; use one of default' in deployment.log()
    incomplete = f'  - myapp/instance.py:{line + 1}: schedule "incomplete": task "sync_data" '
    missing = "cannot be called so: missing a required argument: 'source'"
    assert f"{incomplete}{missing}" in deployment.log()
    assert deployment.query("select 1 from schedules") == []
