"""What a task may return instead of a plain value, and what a returned value means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from traceback import format_exception
from typing import Any, Generic, TypeVar

from quarterjack.errors import Invalid
from quarterjack.rules.definition.input_checks import check_json, check_label, check_text, invalid
from quarterjack.targets.call import Answer
from quarterjack.times.durations import DURATION_MAX
from quarterjack.times.instants import SECOND

T = TypeVar("T")
Function = Callable[..., Any]
ERROR_MAX = 4000
_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True)
class Ok(Generic[T]):
    """The task succeeded; the same as returning the value."""

    value: T


@dataclass(frozen=True)
class Err:
    """The task failed, with a code that programs can compare: `Err("declined", "no funds")`."""

    code: str
    message: str = ""
    retry: bool = True
    """False: no further attempt, whatever the schedule allows."""
    retry_after: float | timedelta | None = None
    """Until the next attempt, in seconds, instead of the delay of the schedule."""


@dataclass(frozen=True)
class Skip:
    """The task had nothing to do: the run ends as `skipped`, neither success nor error."""

    reason: str


_SUCCEEDED = Answer()


def answer_of(result: Any, function: Function) -> Answer:
    """The answer that a value means which this function has returned."""
    if result is None:
        return _SUCCEEDED
    try:
        if isinstance(result, Err):
            return _failure(result)
        if isinstance(result, Skip):
            return Answer(skipped=check_text(result.reason, "Skip.reason"))
        return Answer(result=_result(result.value if isinstance(result, Ok) else result))
    except Invalid as error:
        problem = f"{_shown(function)} ended, but its result cannot be stored: {error}"
        return Answer(problem, retryable=False)


def _shown(function: Function) -> str:
    """With file and line."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


def _result(value: Any) -> Any:
    if inspect.iscoroutine(value):
        value.close()  # else Python warns of it later, somewhere else
        remedy = "await it, in a task that is defined with async def"
        raise invalid("result", value, "is a coroutine that was not awaited", remedy)
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise invalid("result", value, "is a generator", "return a list of what it yields")
    return check_json(value, "result")


def _failure(error: Err) -> Answer:
    code = check_label(error.code, "Err.code")
    if not isinstance(error.message, str):
        raise invalid("Err.message", error.message, "is not text", "give text, or leave it out")
    after = _retry_after(error.retry_after)
    return Answer(error.message or code, retryable=error.retry, code=code, retry_after=after)


def _retry_after(delay: Any) -> int | None:
    if delay is None:
        return None
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= DURATION_MAX / SECOND:  # refuses NaN as well
        reason, remedy = "is no delay", "use seconds from 0 to 100 years, or a timedelta"
        raise invalid("Err.retry_after", delay, reason, remedy)
    return int(seconds * SECOND)


def error_text(error: BaseException) -> str:
    return safe_text(lambda: f"{type(error).__name__}: {error}")[:ERROR_MAX]


def safe_text(text: Callable[[], str]) -> str:
    """Text that every database accepts."""
    try:
        return text().encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    except Exception:  # formatting the error failed, too
        return "(the error message cannot be formatted)"


def traceback_text(error: BaseException) -> str:
    """From the function of the program on, without the way to it."""
    frames = first = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        frames = frames.tb_next
    return safe_text(lambda: "".join(format_exception(type(error), error, frames or first)))
