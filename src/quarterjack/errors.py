"""Every error that Quarterjack raises on purpose.

    QuarterjackError
    ├── Invalid                     invalid input; holds every problem found
    │   ├── InvalidRecurrence
    │   └── InvalidSpecification
    ├── Refused                     valid input, but the current state does not allow it
    │   ├── WrongState              the schedule or run is in a state that does not allow it
    │   ├── Conflict                something else is in the way now; later it may work
    │   └── NotFound                no such schedule or run
    ├── Violation                   a decision contradicts the stored rows
    └── StoreError                  the store failed
        ├── StoreUnavailable        temporarily: retry
        │   ├── StoreFull           the disk is full
        │   ├── TransactionConflict deadlock or serialization failure
        │   └── ClockJumped         the clock jumped too far to be trusted
        └── StoreUnusable           permanently: a person has to act
            └── NoSchema            the database has no tables of ours yet

A message names the text, the field, the value, the reason and a remedy. Python, the API and the
command line show the same object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from reprlib import Repr
from typing import ClassVar, Self


class QuarterjackError(Exception):
    """The base class of all errors below."""

    status: ClassVar[int] = 500
    """The HTTP status code."""


@dataclass(frozen=True)
class Problem:
    """One problem: `place: field value reason; remedy`."""

    field: str
    value: str
    reason: str
    remedy: str
    place: str = ""
    """Where it was found, such as a file and a line."""

    def __str__(self) -> str:
        start = f"{self.place}: " if self.place else ""
        return f"{start}{self.field} {self.value} {self.reason}; {self.remedy}"


class Invalid(QuarterjackError, ValueError):
    """Input was refused because of these problems; nothing was changed."""

    status = 400

    def __init__(self, text: str, problems: Iterable[Problem]) -> None:
        self.text = text
        self.problems = tuple(problems)
        super().__init__(self._message())

    @classmethod
    def because(cls, field: str, value: object, reason: str, remedy: str) -> Self:
        """An error with a single problem."""
        return cls("", [Problem(field, quote(value), reason, remedy)])

    def within(self, place: str) -> Self:
        """A copy whose problems name the place where they were found."""
        where = f"{place}: {self.text}" if self.text else place
        return type(self)("", [replace(problem, place=where) for problem in self.problems])

    def __reduce__(self) -> tuple[type[Self], tuple[str, tuple[Problem, ...]]]:
        """Exceptions with arguments of their own need this to be pickled between processes."""
        return type(self), (self.text, self.problems)

    def _message(self) -> str:
        start = f"{self.text}: " if self.text else ""
        if len(self.problems) == 1:
            problem = str(self.problems[0])
            return problem if problem.startswith(self.text) else f"{start}{problem}"
        lines = [f"{start}{len(self.problems)} problems"]
        lines += [f"  - {problem}" for problem in self.problems[:_PROBLEMS_SHOWN]]
        if (more := len(self.problems) - _PROBLEMS_SHOWN) > 0:
            lines.append(f"  and {more} more")
        return "\n".join(lines)


class InvalidRecurrence(Invalid):
    """An invalid recurrence, time zone, instant, duration or window."""


class InvalidSpecification(Invalid):
    """An invalid definition of a schedule, or an invalid setting."""


class Refused(QuarterjackError):
    """The current state does not allow the request; nothing was changed."""


class WrongState(Refused):
    """The state machine has no such transition."""

    status = 400


class Conflict(Refused):
    """Something is running, at its limit or already in use."""

    status = 409


class NotFound(Refused):
    """No such schedule or run exists."""

    status = 404


class Violation(QuarterjackError):
    """A decision contradicts the stored rows, such as a slot that is already planned; nothing was
    changed."""


class StoreError(QuarterjackError):
    """The store failed; the message says why and what to do."""


class StoreUnavailable(StoreError):
    """Temporarily unavailable; the caller retries."""

    status = 503


class StoreFull(StoreUnavailable):
    """The disk is full; a smaller write may still succeed."""


class TransactionConflict(StoreUnavailable):
    """Deadlock or serialization failure; the transaction is retried."""


class ClockJumped(StoreUnavailable):
    """The clock that decides jumped too far to be trusted."""


class StoreUnusable(StoreError):
    """The store must not be used as it is; retrying does not help."""


class NoSchema(StoreUnusable):
    """Nothing was ever stored in this database."""


def quote(value: object) -> str:
    """A value as error messages show it: escaped and at most one line long."""
    if isinstance(value, str):
        short = value[:_QUOTED_MAX]
        text = f'"{short}"' if short.isprintable() else repr(short)
    else:
        try:
            text = _SHORT_REPR.repr(value)
        except (ValueError, RecursionError):  # an integer of 5,000 digits, nested lists
            text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _QUOTED_MAX else text[: _QUOTED_MAX - 3] + "..."


_QUOTED_MAX = 80
_PROBLEMS_SHOWN = 20
_SHORT_REPR = Repr()
_SHORT_REPR.maxstring = _SHORT_REPR.maxother = _SHORT_REPR.maxlong = _QUOTED_MAX


class Problems:
    """Collects the problems of several checks, to report them together.

    >>> problems = Problems()
    >>> with problems:
    ...     raise InvalidRecurrence.because("hour", 25, "is outside 0-23", "use 0-23")
    >>> [str(problem) for problem in problems.found]
    ['hour 25 is outside 0-23; use 0-23']
    """

    def __init__(self, error: type[Invalid] = InvalidRecurrence) -> None:
        self.found: list[Problem] = []
        self._error = error

    def __enter__(self) -> None: ...

    def __exit__(self, _type: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, Invalid):
            self.note(error)
            return True
        return False

    def note(self, error: Invalid) -> None:
        self.found += error.problems

    def raise_if_any(self, text: str = "") -> None:
        if self.found:
            raise self._error(text, self.found)
