"""The values that go into a store's verbs and come out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from quarterjack.rules import (
    Ended,
    Facts,
    Gate,
    Plans,
    Reason,
    Run,
    Schedule,
    Settlements,
    Specification,
)

DecidePlans: TypeAlias = Callable[[Facts, int], Plans]
DecideSettlements: TypeAlias = Callable[
    [Sequence[Ended], Mapping[int, Schedule], Mapping[str, Gate], Mapping[str, Sequence[Run]], int],
    Settlements,
]


class Planned(NamedTuple):
    """How far planning came."""

    looked_at: int
    """How many schedules were due; as many as the limit means that there may be more."""
    added: int
    next_wake: int | None
    stops: bool = False
    """A running attempt is asked to stop."""


class Claim(NamedTuple):
    """A run that is this worker's now, and what it needs to know to act."""

    run: Run
    specification: Specification
    key: str
    last_success_at: int | None
    owner: str | None


class Claimed(NamedTuple):
    claims: Sequence[Claim]
    next_ready: int | None
    """When the next run that waits is ready; it may be now."""


Leases: TypeAlias = Mapping[tuple[str, int], Reason | None]
"""By run and attempt: those that are still the worker's, and why one should stop, if it should."""


class Settled(NamedTuple):
    settled: Sequence[Run]
    fenced: Sequence[Run]
    """Those of which somebody else has charge by now: nothing was changed."""
    next_wake: int | None


class Rescued(NamedTuple):
    lost: Sequence[Run]
    next_lease_end: int | None
    next_wake: int | None


class Chunk(NamedTuple):
    """A piece of what an attempt has put out."""

    schedule_id: int
    number: int
    attempt: int
    sequence: int
    at: int
    data: bytes


class Notice(NamedTuple):
    """An event that a person should hear of. Its id is the same however often it is told."""

    id: int
    kind: str
    at: int
    about: Sequence[str]
    detail: str | None


class NewSchedule(NamedTuple):
    key: str
    specification: Specification
    owner: str | None
    origin: str


DecideNew: TypeAlias = Callable[[int, NewSchedule, int], Schedule]
"""From an id, what is wanted, and how many others are active."""


class Difference(NamedTuple):
    """What makes the store equal to a declaration."""

    added: Sequence[NewSchedule]
    changed: Sequence[tuple[int, Specification]]
    removed: Sequence[int]


class Stored(NamedTuple):
    """A schedule with what only the store knows of it."""

    schedule: Schedule
    name: str | None
    owner: str | None
    origin: str
    updated_at: int
    deleted_at: int | None


DecideDifference: TypeAlias = Callable[[Sequence[Stored]], Difference]


class Place(NamedTuple):
    """How far forgetting came: the last run that was looked at."""

    finished_at: int = 0
    schedule_id: int = 0
    number: int = -1


class Forgotten(NamedTuple):
    count: int  # type: ignore[assignment]  # not the method of a tuple
    old: Place | None
    """From where to go on among the old runs; None at their end."""
    surplus: Place | None
    """The same among those beyond the number that is kept."""


class DeclarationRules(NamedTuple):
    """The rules by which a difference is carried out."""

    create: DecideNew
    edit: Callable[[Facts, Specification, int, int], Plans]
    delete: DecidePlans
