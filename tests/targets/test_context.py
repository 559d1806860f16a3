"""The context of a task: how it is asked for, and what it says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import quarterjack
import quarterjack as qj
from harness.engine.service import SteppedService
from harness.targets.attempts import execute
from harness.targets.calls import new_call, tasks_here
from quarterjack import Context
from quarterjack import Context as Run

if TYPE_CHECKING:
    from decimal import Decimal


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a task, or its error."""
    call = new_call(task="work", args=list(args), kwargs=kwargs)
    answer = asyncio.run(tasks_here({"work": function}).act(call))
    return answer.error or answer.result


async def plain(context: Context) -> str:
    return context.run_id


async def qualified(context: quarterjack.Context) -> str:
    return context.run_id


async def renamed(number: Decimal, context: Run) -> str:
    return context.run_id


async def of_a_renamed_module(context: qj.Context) -> str:
    return context.run_id


async def optional(context: Context | None = None) -> str:
    assert context is not None
    return context.run_id


async def keyword_only(*, context: Context) -> str:
    return context.run_id


def sync(context: Context) -> str:
    return context.run_id


@pytest.mark.parametrize(
    "task", [plain, qualified, of_a_renamed_module, optional, keyword_only, sync]
)
def test_a_parameter_annotated_with_the_class_is_given_the_context(task: Callable[..., Any]):
    assert run(task) == "7-3"


def test_an_annotation_that_cannot_be_evaluated_does_not_hide_the_context():
    assert run(renamed, None) == "7-3"


def test_annotations_that_are_no_text_are_found_as_well():
    def work(given: Any, also: Any = None) -> list[str]:
        return [given.run_id, also.run_id]

    work.__annotations__ = {"given": Context, "also": Context | None}

    assert run(work) == ["7-3", "7-3"]


def test_a_class_of_the_same_name_is_not_the_context():
    module: dict[str, Any] = {"Context": SimpleNamespace, "Any": Any}
    exec("from __future__ import annotations\ndef work(c: Context) -> Any: return c", module)

    assert run(module["work"], 5) == 5


def test_a_name_that_only_type_checkers_import_is_taken_for_the_context():
    module: dict[str, Any] = {}
    exec("from __future__ import annotations\ndef work(c: Context): return c.run_id", module)

    assert run(module["work"]) == "7-3"


def test_the_context_stands_anywhere_among_the_parameters():
    def work(context: Context, days: int, *files: str, deep: bool = False) -> list[Any]:
        return [context.run_id, days, files, deep]

    assert run(work, 30, "a", "b", deep=True) == ["7-3", 30, ["a", "b"], True]
    assert run(work, days=30) == ["7-3", 30, [], False]


def test_the_context_says_what_the_run_is_for(service: SteppedService):
    found: list[Any] = []

    def work(call: Any) -> None:
        context = Context.current()
        found.append([
            context.run_id, context.idempotency_key, context.schedule_id, context.schedule,
            context.name, context.slot, context.attempt, context.repeat_number,
            dict(context.payload), context.owner, context.last_success,
        ])  # fmt: skip
        if context.run_id == "1-0" and context.attempt == 1:
            raise ValueError

    service.work = work
    service.add(
        every="1h", name="Nightly report", payload={"days": 1}, max_retries=1, retry_delay="1m"
    )
    service.run_until("10:30")

    nine, ten = (datetime(2026, 11, 16, hour, tzinfo=UTC) for hour in (9, 10))
    about = ["1-0", "1-0", 1, "nightly", "Nightly report", nine]
    rest = [{"days": 1}, None, None]
    assert found == [
        [*about, 1, 0, *rest],
        [*about, 2, 0, *rest],
        ["1-1", "1-1", *about[2:5], ten, 1, 1, *rest[:2], nine + timedelta(minutes=1)],
    ]


def test_the_current_context_is_found_anywhere_inside_a_task_and_nowhere_else():
    def deeper() -> str:
        return Context.current().run_id

    async def on_the_loop() -> str:
        return await asyncio.create_task(asyncio.to_thread(deeper))

    assert (run(deeper), run(on_the_loop)) == ("7-3", "7-3")
    with pytest.raises(RuntimeError, match="no task is running here; call it from a task"):
        Context.current()


def test_the_deadline_follows_the_timeout_and_its_extension():
    async def work(context: Context) -> list[str]:
        found = [context.deadline]
        for timeout in ("2h", timedelta(hours=3)):
            context.extend(timeout)
            await asyncio.sleep(0)
            found.append(context.deadline)
        now = datetime.now(UTC)
        return [f"{(each - now) / timedelta(hours=1):.1f}" for each in found if each]

    assert execute(work, timeout="1h")[0].outcome.result == ["1.0", "2.0", "3.0"]
    assert execute(work, timeout="none")[0].outcome.result == ["2.0", "3.0"]


def test_progress_is_noted_and_written_to_the_output():
    async def work(context: Context) -> None:
        context.progress(0.25, "a quarter")
        context.progress(1)

    (ended,) = execute(work)

    assert [each[4:6] for each in ended.attempt.output.unstored().progress] == [(1, "")]
    assert ended.output == "25% a quarter\n100%\n"


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan")])
def test_progress_outside_0_to_1_is_refused(fraction: float):
    async def work(context: Context) -> None:
        context.progress(fraction)

    (ended,) = execute(work)

    assert "is outside 0 to 1; give the fraction done" in (ended.outcome.error or "")


def test_the_log_writes_to_the_output_and_never_fails():
    async def work(context: Context) -> None:
        context.log.info("%d files", 3)
        context.log.debug("100%")
        context.log.warning("%d files", "no")
        try:
            raise ValueError("bad day")
        except ValueError:
            context.log.exception("tried")

    (ended,) = execute(work)

    *lines, last = ended.output.splitlines()
    assert lines[:4] == ["3 files", "100%", "%d files ('no',)", "tried"]
    assert lines[4] == "Traceback (most recent call last):"
    assert last == "ValueError: bad day"
