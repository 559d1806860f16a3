"""What a program registers: which targets its workers have, what they tell other nodes, and that a
real worker runs all of it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import PROGRAM, wait_for
from quarterjack.cli.runtime import Runtime
from quarterjack.rules.definition.capabilities import Capabilities
from quarterjack.targets.kinds import make_targets
from quarterjack.targets.registrations import Registry, Workflow

STARTED_SECONDS = 60
DATABASE = ("--database", "sqlite:///try.db")
JOBS = """
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from quarterjack import Context, Depends, Err, Ok, Quarterjack, Skip

app = Quarterjack(database="sqlite:///try.db", defaults={"first_run": "now"})


def session() -> Iterator[str]:
    Context.current().log.info("open")
    yield "session"
    Context.current().log.info("close")


@app.every("1h", payload={"days": 30})
def report(context: Context, database: str = Depends(session)) -> Ok[list[Any]]:
    return Ok([database, context.owner, context.payload["days"]])


@app.every("1h")
async def declined() -> Err:
    return Err("declined", "no funds", retry=False)


@app.every("1h")
def idle() -> Skip:
    return Skip("no new files")


@app.every("1h")
def broken() -> None:
    raise SystemExit("bad day")


@app.workflow(7, nodes=["start"])
def flow(event: dict[str, Any]) -> dict[str, Any]:
    return event


@app.prompt_handler
async def ask(prompt: str, *, model: str, opts: dict[str, Any], user: str) -> list[Any]:
    return [prompt, model, opts, user]
"""


def quarterjack(folder: Path, *arguments: str) -> str:
    result = subprocess.run(
        [*PROGRAM, *arguments, *DATABASE],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=STARTED_SECONDS,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def runs_of(folder: Path, count: int) -> dict[str, Any]:
    """By schedule, once all of them have ended."""

    def ended() -> Any:
        items = json.loads(quarterjack(folder, "runs", "list", "--json"))["items"]
        done = [each for each in items if each["finished_at"]]
        return len(done) == count and {each["schedule"]: each for each in done}

    found: dict[str, Any] = wait_for(ended, STARTED_SECONDS, "all have ended")
    return found


@pytest.mark.unmeasured
@pytest.mark.mission("P7", "E9", "H11")
def test_a_real_worker_runs_what_a_program_registers(tmp_path: Path):
    (tmp_path / "jobs.py").write_text(JOBS)
    schedules = [
        {"key": "flow", "workflow_id": 7, "trigger_node_id": "start", "payload": {"a": 1}},
        {"key": "ask", "prompt": "Check the queue", "model": "small", "opts": {"depth": 1}},
    ]
    every = [{**each, "every": "1h", "first_run": "now"} for each in schedules]
    (tmp_path / "more.json").write_text(json.dumps(every))
    quarterjack(tmp_path, "add", "--from", "more.json")
    with (tmp_path / "log.txt").open("wb") as log:
        command = [*PROGRAM, "up", "jobs.py:app", "--port", "0"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log)
    try:
        found = runs_of(tmp_path, 6)
        output = quarterjack(tmp_path, "runs", "logs", found["report"]["id"])
        process.terminate()
        assert process.wait(STARTED_SECONDS) == 0, (tmp_path / "log.txt").read_text()
    finally:
        process.kill()
        process.wait()

    me = Runtime().user
    assert output == "open\nclose\n"
    assert found["report"]["result"] == ["session", None, 30]
    assert _kept(found["declined"]) == ("failed", "not_retryable", "no funds", "declined")
    assert _kept(found["idle"]) == ("skipped", "by_task", "no new files", None)
    assert _kept(found["broken"])[2] == "SystemExit: bad day"
    assert found["ask"]["result"] == ["Check the queue", "small", {"depth": 1}, me]
    flow = found["flow"]
    assert flow["result"] == {
        "event": "schedule",
        "timestamp": flow["slot"],
        "workflow_id": 7,
        "trigger_node_id": "start",
        "user": me,
        "event_data": {
            "scheduled_job_id": flow["schedule_id"],
            "scheduled_job_name": "flow",
            "repeat_number": 0,
            "payload": {"a": 1},
        },
    }


def _kept(run: dict[str, Any]) -> tuple[Any, ...]:
    return run["state"], run["reason"], run["error"], run["code"]


def test_a_worker_has_targets_only_for_what_is_registered():
    registry = Registry("builtins")
    assert make_targets(registry, 1).keys() == {"task", "command"}

    registry.workflows[7] = Workflow(print, frozenset())
    registry.workflows[8] = Workflow(print, frozenset({"start", "resume"}))
    registry.prompt_handler = print
    assert make_targets(registry, 1).keys() == {"task", "command", "workflow", "prompt"}


def test_other_nodes_learn_the_names_of_tasks_and_workflows():
    registry = Registry()
    registry.tasks |= {"report": print, "cleanup": print}
    registry.workflows[7] = Workflow(print, frozenset())
    registry.workflows[8] = Workflow(print, frozenset({"start", "resume"}))
    registry.prompt_handler = print

    assert registry.capabilities == Capabilities({
        "task": ["cleanup", "report"], "command": None, "workflow": ["7", "8"], "prompt": None,
    }, {"8": ["resume", "start"]})  # fmt: skip
    assert Capabilities.from_text(registry.capabilities.to_text()) == registry.capabilities
