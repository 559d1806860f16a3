"""What a task may return, and what is refused."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.targets.calls import new_call, tasks_here
from quarterjack import Err, Ok, Skip
from quarterjack.targets.call import Answer
from quarterjack.times.instants import SECOND


def returned(value: Any) -> Answer:
    """The answer of a task that returns this."""

    async def work() -> Any:
        return value

    return asyncio.run(tasks_here({"work": work}).act(new_call(task="work", args=[], kwargs={})))


@pytest.mark.parametrize("value", [None, True, 0, "", "text", 1.5, [1, [2]], {"a": {"b": None}}])
def test_json_is_the_result_as_it_is_or_in_ok(value: Any):
    assert returned(value) == returned(Ok(value)) == Answer(result=value)


def test_a_tuple_is_a_list():
    assert returned((1, (2,))).result == [1, [2]]


@pytest.mark.mission("H11")
def test_err_is_a_failure_with_a_code():
    assert returned(Err("declined", "no funds")) == Answer("no funds", code="declined")
    assert returned(Err("declined")) == Answer("declined", code="declined")


def test_err_can_rule_out_further_attempts_or_name_their_delay():
    assert returned(Err("declined", retry=False)).retryable is False
    assert returned(Err("busy", retry_after=1.5)).retry_after == 3 * SECOND // 2
    assert returned(Err("busy", retry_after=timedelta(minutes=2))).retry_after == 120 * SECOND
    assert returned(Err("busy", retry_after=0)).retry_after == 0


def test_skip_says_why_there_was_nothing_to_do():
    assert returned(Skip("no new files")) == Answer(skipped="no new files")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (Err("two\nlines"), "Err.code 'two\\nlines' is not a label"),
        (Err(""), 'Err.code "" is not text'),
        (Err(404), "Err.code 404 is not text"),
        (Err("busy", 404), "Err.message 404 is not text"),
        (Err("busy", retry_after=-1), "Err.retry_after -1 is no delay"),
        (Err("busy", retry_after=timedelta(-1)), "Err.retry_after datetime.timedelta(days=-1)"),
        (Err("busy", retry_after=float("nan")), "Err.retry_after nan is no delay"),
        (Err("busy", retry_after=float("inf")), "Err.retry_after inf is no delay"),
        (Err("busy", retry_after="2m"), 'Err.retry_after "2m" is no delay'),
        (Err("busy", retry_after=True), "Err.retry_after True is no delay"),
        (Skip(""), 'Skip.reason "" is not text'),
        (Skip(None), "Skip.reason None is not text"),
        (Ok(Err("declined")), "is not JSON"),
        (Skip, "is not JSON"),
    ],
    ids=repr,
)
def test_a_wrong_answer_is_a_failure_that_says_what_is_wrong(wrong: Any, problem: str):
    answer = returned(wrong)

    assert problem in (answer.error or "")
    assert (answer.retryable, answer.code, answer.skipped) == (False, None, None)


def circular() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def numbers() -> Iterator[int]:
    yield 1


async def numbers_later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (object(), "is not JSON (Object of type object is not JSON serializable)"),
        ({1: 2}, "has the key 1, which is not text"),
        ({1}, "is not JSON"),
        (float("nan"), "is not JSON"),
        ("\udcff", "is not JSON"),
        ("a\0b", "contains U+0000"),
        ("x" * 1_000_001, "is 1000003 characters long as JSON; use at most 1000000"),
        (circular(), "is nested too deeply"),
        (numbers(), "is a generator; return a list of what it yields"),
        (numbers_later(), "is a generator; return a list of what it yields"),
    ],
    ids=["object", "key", "set", "nan", "surrogate", "nul", "long", "circular", "iter", "aiter"],
)
def test_a_result_that_cannot_be_stored_is_a_failure_without_retries(value: Any, problem: str):
    answer = returned(value)

    place = f"{__file__}:{inspect.getsourcelines(returned)[1] + 3}"
    start = f"work ({place}) ended, but its result cannot be stored: "
    assert (answer.error or "").startswith(start)
    assert problem in (answer.error or "")
    assert len(answer.error or "") < 400 + len(place)
    assert answer.retryable is False


def test_a_forgotten_await_is_named_and_not_warned_of_elsewhere():
    async def inner() -> int:
        return 1

    coroutine = inner()
    answer = returned(coroutine)

    assert "is a coroutine that was not awaited; await it" in (answer.error or "")
    assert inspect.getcoroutinestate(coroutine) == "CORO_CLOSED"


@pytest.mark.mission("H11")
def test_the_code_of_an_error_is_kept_with_the_run_and_with_each_attempt(service: SteppedService):
    answers: list[Any] = [Err("busy", "try later", retry_after=90), Err("declined", retry=False)]
    service.work = lambda call: answers[call.attempt - 1]
    service.add(every="1h", max_retries=5)
    service.run_until("09:59")

    assert service.seconds_since("09:00") == [0, 90]
    (run,) = service.runs()
    assert (run.state, run.reason, run.error, run.code) == (
        "failed", "not_retryable", "declined", "declined",
    )  # fmt: skip
    assert service.execute("select attempt, error, code from attempts") == [
        (1, "try later", "busy")
    ]


@pytest.mark.mission("H11")
def test_a_value_is_kept_with_the_run_and_a_skipped_run_counts_for_nothing(
    service: SteppedService,
):
    answers: list[Any] = [Ok({"rows": 3}), Skip("no new files")]
    service.work = lambda call: answers[len(service.calls) - 1]
    service.add(every="1h")
    service.run_until("10:59")

    first, second = service.runs()
    assert (first.state, first.result) == ("succeeded", {"rows": 3})
    assert service.states() == ["succeeded", "skipped: by_task"]
    assert second.error == "no new files"
    schedule = service.schedule()
    assert (schedule.run_count, schedule.error_count) == (1, 0)


def test_an_error_message_is_shortened_and_cleaned_not_refused(service: SteppedService):
    service.work = lambda call: Err("html", "<\0\udcff" + "x" * 10_000)
    service.add(every="1h")
    service.run_until("09:30")

    (run,) = service.runs()
    assert (run.code, len(run.error or "")) == ("html", 4000)
    assert (run.error or "").startswith("<\N{REPLACEMENT CHARACTER}?x")
