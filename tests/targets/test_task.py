"""Tasks, called as a worker calls them."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.targets.attempts import execute
from harness.targets.calls import new_call, tasks_here
from quarterjack import Context
from quarterjack.targets.call import Answer

TOGETHER_SECONDS = 20


def run(function: Any, **fields: Any) -> Answer:
    defaults: dict[str, Any] = {"task": "work", "args": [], "kwargs": {}}
    return asyncio.run(tasks_here({"work": function}).act(new_call(**defaults | fields)))


def test_an_async_task_gets_its_arguments_and_returns_its_result():
    async def add(one: int, *, other: int) -> dict[str, int]:
        return {"sum": one + other}

    assert run(add, args=[1], kwargs={"other": 2}) == Answer(result={"sum": 3})


def test_a_sync_task_gets_its_arguments_and_returns_its_result():
    def add(one: int, *, other: int) -> dict[str, int]:
        return {"sum": one + other}

    assert run(add, args=[1], kwargs={"other": 2}) == Answer(result={"sum": 3})


def test_a_task_that_changes_its_arguments_changes_those_of_no_later_run(service: SteppedService):
    seen: list[Any] = []

    def work(call: Any) -> None:
        context = Context.current()
        context.payload["days"].append(2)
        seen.append(context.payload["days"])

    service.work = work
    service.add(every="1h", payload={"days": [1]})
    service.run_until("10:30")

    assert seen == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    "fields", [{"args": [[1]], "kwargs": {}}, {"args": [], "kwargs": {"days": [1]}}]
)
def test_arguments_are_copied_for_each_attempt(fields: dict[str, Any]):
    def work(days: list[int]) -> list[int]:
        days.append(2)
        return days

    assert [run(work, **fields).result for _ in range(2)] == [[1, 2], [1, 2]]


def test_an_unknown_task_fails_with_advice():
    answer = run(None, task="other")

    assert (answer.error or "").startswith(
        'task "other" is not registered in this worker; if its function was renamed, '
    )


def test_arguments_that_do_not_fit_are_an_error_of_the_run():
    def work(days: int) -> None: ...

    (ended,) = execute(work)

    error = ended.outcome.error or ""
    assert error.startswith("TypeError: ")
    assert error.endswith("work() missing 1 required positional argument: 'days'")


def raising(error: BaseException) -> tuple[Callable[[], Any], Callable[[], Any]]:
    async def on_the_loop() -> None:
        raise error

    def sync() -> None:
        raise error

    return on_the_loop, sync


@pytest.mark.mission("H11")
def test_an_exception_is_kept_with_its_type_message_and_traceback():
    for ended in execute(*raising(ValueError("no such day"))):
        assert ended.outcome.ending == "failed"
        assert ended.outcome.error == "ValueError: no such day"
        assert ended.output.startswith("Traceback (most recent call last):")
        assert ended.output.endswith("    raise error\nValueError: no such day\n")


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()], ids=repr)
def test_a_task_that_wants_to_end_the_process_ends_only_its_run(error: BaseException):
    async def other() -> str:
        return "unharmed"

    *failed, unharmed = execute(*raising(error), other)

    assert [each.outcome.ending for each in failed] == ["failed"] * 2
    assert (failed[0].outcome.error or "").startswith(type(error).__name__)
    assert unharmed.outcome.result == "unharmed"


def test_stop_iteration_in_a_task_is_an_error_like_any_other():
    """A future cannot hold it, so that the run would never end."""
    (ended,) = execute(raising(StopIteration())[0])

    assert (ended.outcome.error or "").startswith("RuntimeError: ")
    assert "StopIteration" in ended.output


def test_an_error_message_that_no_database_stores_is_stored_without_that(service: SteppedService):
    def work(call: Any) -> None:
        raise ValueError("a\0b")

    service.work = work
    service.add(every="1h")
    service.run_until("09:30")

    assert service.runs()[0].error == "ValueError: a\N{REPLACEMENT CHARACTER}b"


def test_a_task_behind_a_decorator_is_called_with_its_own_parameters():
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            return await function(*args, **kwargs)

        return wrapper

    @logged
    async def work(context: Context, days: int) -> list[Any]:
        return [context.run_id, days]

    assert run(work, args=[30]).result == ["7-3", 30]


def test_a_task_that_wants_to_end_the_process_leaves_the_loop_of_the_program_running():
    loop = asyncio.new_event_loop()
    program = threading.Thread(target=loop.run_forever, daemon=True)
    program.start()

    async def leave() -> None:
        raise SystemExit(3)

    def work() -> None:
        target = tasks_here({"work": leave}, loop)
        with pytest.raises(SystemExit):
            asyncio.run(target.act(new_call(task="work", args=[], kwargs={})))

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(TOGETHER_SECONDS)
    assert (worker.is_alive(), program.is_alive()) == (False, True)
    loop.call_soon_threadsafe(loop.stop)
    program.join(TOGETHER_SECONDS)
    loop.close()
