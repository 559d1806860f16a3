"""What a task may return instead of a plain value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, TypeVar

T = TypeVar("T")


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
