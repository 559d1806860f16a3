"""Tasks, called as a worker calls them."""

from __future__ import annotations

import asyncio
from typing import Any

from harness.targets.calls import new_call
from quarterjack.targets.call import Answer
from quarterjack.targets.task import TaskTarget, current_call


def run(function: Any, **fields: Any) -> Answer:
    defaults: dict[str, Any] = {"task": "work", "args": [], "kwargs": {}}
    return asyncio.run(TaskTarget({"work": function}).act(new_call(**defaults | fields)))


def test_a_task_gets_its_arguments_and_returns_its_result():
    async def add(one: int, *, other: int) -> dict[str, int]:
        return {"sum": one + other}

    assert run(add, args=[1], kwargs={"other": 2}) == Answer(result={"sum": 3})


def test_a_task_can_read_its_call():
    async def who() -> str:
        return current_call.get().run_id

    assert run(who).result == "7-3"


def test_a_result_that_is_not_json_is_a_failure_without_retries():
    async def odd() -> object:
        return object()

    answer = run(odd)

    assert "the task succeeded, but its result cannot be stored" in (answer.error or "")
    assert answer.retryable is False


def test_an_unknown_task_fails_with_advice():
    answer = run(None, task="other")

    assert (answer.error or "").startswith(
        'task "other" is not registered in this worker; register'
    )
