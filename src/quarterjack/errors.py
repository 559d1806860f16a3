"""Every error that Quarterjack raises on purpose.

    QuarterjackError
    ├── Invalid             what a person wrote cannot be used; holds every problem found
    │   ├── InvalidRecurrence
    │   └── InvalidSpecification
    ├── Refused             it could be used, but not as things stand
    │   ├── WrongState      the schedule or run is in a state that does not allow it
    │   ├── Conflict        something else is in the way now; later it may work
    │   └── NotFound        there is no such schedule or run
    ├── Violation           what was decided contradicts what is stored
    └── StoreError          the store did not do it
        ├── StoreAway       locked or slow: it is tried again
        │   ├── StoreFull   its disk has no room
        │   └── ClockAstray its clock cannot be believed
        └── StoreUnusable   it must not be used as it is: a person has to look

An error advises: it names the text, the field, the value, the reason and a remedy. One object
serves Python, the API and the command line, so nothing is worded twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from reprlib import Repr
from typing import ClassVar, Self


class QuarterjackError(Exception):
    """The root, for those who want to catch all of it."""

    status: ClassVar[int] = 500
    """As HTTP says it."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: `place: field value reason; remedy`."""

    field: str
    value: str
    reason: str
    remedy: str
    place: str = ""
    """Where it was written, such as a file and its line."""

    def __str__(self) -> str:
        start = f"{self.place}: " if self.place else ""
        return f"{start}{self.field} {self.value} {self.reason}; {self.remedy}"


class Invalid(QuarterjackError, ValueError):
    """Something was refused, for all of these problems; nothing was changed."""

    status = 400

    def __init__(self, text: str, problems: Iterable[Problem]) -> None:
        self.text = text
        self.problems = tuple(problems)
        super().__init__(self._message())

    @classmethod
    def because(cls, field: str, value: object, reason: str, remedy: str) -> Self:
        """Refused for one problem, which says it all."""
        return cls("", [Problem(field, shown(value), reason, remedy)])

    def within(self, place: str) -> Self:
        """The same, and where it was written."""
        where = f"{place}: {self.text}" if self.text else place
        return type(self)("", [replace(problem, place=where) for problem in self.problems])

    def __reduce__(self) -> tuple[type[Self], tuple[str, tuple[Problem, ...]]]:
        """So that it survives the way back from another process."""
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
    """A recurrence, zone, instant, duration or window that cannot be understood."""


class InvalidSpecification(Invalid):
    """The definition of a schedule, or a setting, that cannot be used."""


class Refused(QuarterjackError):
    """As things stand it is not done; nothing was changed."""


class WrongState(Refused):
    """The state table has no such step."""

    status = 400


class Conflict(Refused):
    """Something is running, full or taken."""

    status = 409


class NotFound(Refused):
    """No such schedule or run is known."""

    status = 404


class Violation(QuarterjackError):
    """What was decided contradicts what is stored, such as a slot that was planned before; nothing
    was changed."""


class StoreError(QuarterjackError):
    """The store did not do what was asked; it says why, and what to do."""


class StoreAway(StoreError):
    """It cannot be used for now. Whoever asked asks again."""

    status = 503


class StoreFull(StoreAway):
    """There is no room for what was asked; less may fit."""


class Collision(StoreAway):
    """Another transaction is in the way; this one is tried again."""


class ClockAstray(StoreAway):
    """The clock that all nodes agree on jumped too far to be believed."""


class StoreUnusable(StoreError):
    """It must not be used as it is; trying again is of no use."""


def shown(value: object) -> str:
    """A value as an error quotes it: escaped, and never longer than a line."""
    if isinstance(value, str):
        short = value[:_SHOWN_MAX]
        text = f'"{short}"' if short.isprintable() else repr(short)
    else:
        try:
            text = _BRIEFLY.repr(value)
        except (ValueError, RecursionError):  # an integer of 5,000 digits, lists without end
            text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN_MAX else text[: _SHOWN_MAX - 3] + "..."


_SHOWN_MAX = 80
_PROBLEMS_SHOWN = 20
_BRIEFLY = Repr()
_BRIEFLY.maxstring = _BRIEFLY.maxother = _BRIEFLY.maxlong = _SHOWN_MAX


class Problems:
    """Gathers what several checks refuse, so that it is all told at once.

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

    def refuse_if_any(self, text: str = "") -> None:
        if self.found:
            raise self._error(text, self.found)
