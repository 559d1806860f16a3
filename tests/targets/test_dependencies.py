"""Dependencies of a task: what is injected, and when it is opened and closed."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import pytest

from harness.targets.attempts import execute
from harness.targets.calls import new_call, tasks_here
from quarterjack import Context, Depends, Err
from quarterjack.targets.functions import injection_of

events: list[str] = []


@pytest.fixture(autouse=True)
def _no_events() -> None:
    events.clear()


def run(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a task, or its error."""
    call = new_call(task="work", args=list(args), kwargs=kwargs)
    answer = asyncio.run(tasks_here({"work": function}).act(call))
    return answer.error or answer.result


def value() -> str:
    return "value"


async def value_later() -> str:
    return "value"


def generated() -> Iterator[str]:
    events.append("open")
    try:
        yield "value"
    except ValueError:
        events.append("saw the error")
        raise
    except asyncio.CancelledError:
        events.append("saw the cancellation")
        raise
    finally:
        events.append("close")


async def generated_later() -> AsyncIterator[str]:
    with contextmanager(generated)() as found:
        yield found


managed = contextmanager(generated)


def nested(inner: str = Depends(generated), again: str = Depends(generated)) -> str:
    return f"{inner} {again}"


OPENED = ["open", "close"]


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize(
    ("dependency", "expected", "opened"),
    [
        (value, "value", []),
        (value_later, "value", []),
        (generated, "value", OPENED),
        (generated_later, "value", OPENED),
        (managed, "value", OPENED),
        (nested, "value value", OPENED),
    ],
    ids=["function", "async function", "generator", "async generator", "manager", "nested"],
)
def test_a_dependency_is_opened_for_the_task_and_closed_after_it(
    dependency: Callable[..., Any], expected: str, opened: list[str], is_async: bool
):
    async def work(days: int, given: str = Depends(dependency), *, deep: bool) -> list[Any]:
        assert events == opened[:1]
        return [days, given, deep]

    def sync(days: int, given: str = Depends(dependency), *, deep: bool) -> list[Any]:
        assert events == opened[:1]
        return [days, given, deep]

    assert run(work if is_async else sync, 30, deep=True) == [30, expected, True]
    assert events == opened


def test_a_dependency_is_opened_once_per_attempt_and_again_for_the_next():
    async def work(one: str = Depends(generated), two: str = Depends(nested)) -> str:
        return f"{one} {two}"

    assert [run(work), run(work)] == ["value value value"] * 2
    assert events == OPENED * 2


def test_arguments_stand_on_either_side_of_dependencies():
    def work(given: str = Depends(value), days: int = 3, *files: str) -> list[Any]:
        return [given, days, files]

    assert run(work, 30, "a") == ["value", 30, ["a"]]
    assert run(work) == ["value", 3, []]


def test_a_dependency_in_an_annotation():
    def work(given: Any) -> Any:
        return given

    work.__annotations__["given"] = Annotated[str, Depends(value)]

    assert run(work) == "value"


def test_a_dependency_finds_the_context():
    def folder() -> str:
        return f"work/{Context.current().run_id}"

    def work(given: str = Depends(folder)) -> str:
        return given

    assert run(work) == "work/7-3"


def test_arguments_of_a_dependency():
    def read(name: str) -> str:
        return f"read {name}"

    def work(one: str = Depends(read, name="a"), two: str = Depends(read, name="b")) -> list[str]:
        return [one, two]

    assert run(work) == ["read a", "read b"]


@pytest.mark.parametrize("dependency", [generated, generated_later, managed])
def test_a_dependency_is_closed_after_an_error_which_it_sees(dependency: Callable[..., Any]):
    async def work(given: str = Depends(dependency)) -> None:
        raise ValueError("bad day")

    def sync(given: str = Depends(dependency)) -> None:
        raise ValueError("bad day")

    for ended in execute(work) + execute(sync):
        assert ended.outcome.error == "ValueError: bad day"
    assert events == ["open", "saw the error", "close"] * 2


def test_a_dependency_is_closed_after_a_cancellation_before_the_attempt_ends():
    async def work(given: str = Depends(generated)) -> None:
        events.append("working")
        await asyncio.Event().wait()

    (ended,) = execute(work, cancel_when=lambda: "working" in events)

    assert ended.outcome.ending == "cancelled"
    assert events == ["open", "working", "saw the cancellation", "close"]


def test_a_sync_task_may_use_what_belongs_to_one_thread_and_a_loop_of_its_own():
    def database() -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(":memory:")
        yield connection
        connection.close()

    def work(connection: sqlite3.Connection = Depends(database)) -> int:  # noqa: B008
        (found,) = connection.execute("select 40").fetchone()
        return int(found) + asyncio.run(asyncio.sleep(0, 2))

    assert run(work) == 42


def test_an_error_while_opening_is_an_error_of_the_task_which_is_not_called():
    def broken(first: str = Depends(generated)) -> str:
        raise ConnectionError("no route")

    async def work(one: str = Depends(generated), two: str = Depends(broken)) -> None:
        events.append("called")

    def sync(one: str = Depends(generated), two: str = Depends(broken)) -> None:
        events.append("called")

    for ended in execute(work) + execute(sync):
        assert ended.outcome.error == "ConnectionError: no route"
        assert "in broken" in ended.output
    assert events == ["open", "close"] * 2


def test_an_error_while_closing_is_an_error_of_the_task():
    def unclosable() -> Iterator[str]:
        yield "value"
        raise OSError("commit failed")

    async def work(one: str = Depends(generated), two: str = Depends(unclosable)) -> str:
        return "done"

    def sync(one: str = Depends(generated), two: str = Depends(unclosable)) -> str:
        return "done"

    for ended in execute(work) + execute(sync):
        assert (ended.outcome.ending, ended.outcome.error) == ("failed", "OSError: commit failed")
    assert events.count("close") == 2


def test_a_dependency_that_suppresses_an_error_makes_no_success_of_it():
    def forgiving() -> Iterator[str]:
        with suppress(ValueError):
            yield "value"

    async def work(given: str = Depends(forgiving)) -> None:
        raise ValueError("bad day")

    def sync(given: str = Depends(forgiving)) -> None:
        raise ValueError("bad day")

    assert [each.outcome.error for each in execute(work, sync)] == ["ValueError: bad day"] * 2


def test_a_returned_error_closes_a_dependency_as_a_success_does():
    async def work(given: str = Depends(generated)) -> Err:
        return Err("declined")

    assert run(work) == "declined"
    assert events == OPENED


def test_what_is_injected_is_known_before_the_call():
    def work(days: int, context: Context, given: str = Depends(value)) -> None: ...

    assert injection_of(work).parameters == {"context", "given"}
