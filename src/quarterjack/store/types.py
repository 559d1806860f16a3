"""The values that go into a store's verbs and come out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from quarterjack.rules import (
    Ended,
    Facts,
    Gate,
    Limits,
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


class HeartbeatResult(NamedTuple):
    """What there is to do, for those whom nobody told."""

    next_wake: int | None
    waits: bool
    """A run is queued."""
    next_lease_end: int | None
    ahead: int = 0
    """By how much the clock of this host differs from that of the database."""


class NodeInfo(NamedTuple):
    """A node that is there, or was a moment ago."""

    name: str
    host: str
    pid: int
    plans: bool
    works: bool
    program: str
    """Its version."""
    zone_data: str
    declaration: str
    revision: str
    """Which text of that declaration it was started with."""
    started_at: int
    seen_at: int
    ahead: int = 0
    """By how much the clock of its host differs from the one that all agree on."""
    process: str = ""
    """Which process it is, in the words of `clock.process_identity`."""


class Planned(NamedTuple):
    """How far planning came."""

    looked_at: int
    """How many schedules were due; as many as the limit means that there may be more."""
    added: int
    next_wake: int | None
    stops: bool = False
    """A running attempt is asked to stop."""
    is_notable: bool = False
    """There is something that people should hear of."""


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
    is_notable: bool


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


class Notification(NamedTuple):
    """An event that a person should hear of. Its id is the same however often it is told."""

    id: int
    kind: str
    at: int
    about: Sequence[str]
    detail: str | None


class NewSchedule(NamedTuple):
    key: str
    """Empty, if it is named after its id."""
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
    noted: Mapping[str, str] = {}
    """Facts that are noted with it."""
    is_refused: bool = False
    """It is an older edition, and a node runs a later one."""


class Declared(NamedTuple):
    """What is known of a declaration, and of those who may run one of its editions."""

    revisions: str | None
    nodes: Sequence[NodeInfo]


class StoredSchedule(NamedTuple):
    """A schedule with what only the store knows of it."""

    schedule: Schedule
    name: str | None
    owner: str | None
    origin: str
    updated_at: int
    deleted_at: int | None


Which: TypeAlias = int | str
"""A schedule: its id, or a text that is its id, its key, or a name that no other has."""
DecideEdit: TypeAlias = Callable[[Facts, Specification, int], Plans]
DecideRun: TypeAlias = Callable[[Facts, Run, int], Plans]
Patch: TypeAlias = Callable[[Schedule, int], Specification]
"""Another definition, made from the one that a schedule has."""


class Caller(NamedTuple):
    """Who asks, through which door and for what, under the limits of the service. `permit` raises
    if it may not be asked of this schedule."""

    by: str
    origin: str
    verb: str
    permit: Callable[[StoredSchedule], None] = lambda _: None
    limits: Limits = Limits()


class Audit(NamedTuple):
    """One request, and the fields that it changed."""

    id: int
    at: int
    by: str
    origin: str
    verb: str
    schedule_id: int | None
    run_id: str | None
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


DecideDifference: TypeAlias = Callable[[Sequence[StoredSchedule], Declared], Difference]


class RunCursor(NamedTuple):
    """A run by when it ended: how far a walk over them came."""

    finished_at: int = 0
    schedule_id: int = 0
    number: int = -1


class Day(NamedTuple):
    """What the runs of one schedule, or of all of them, that ended on one day of UTC came to.
    Those that started have a duration, that of their last attempt, and a delay: from when that
    attempt was ready to when it started."""

    day: int
    """Since 1970."""
    schedule_id: int
    """0 is all of them."""
    succeeded: int
    failed: int
    timed_out: int
    cancelled: int
    lost: int
    skipped: int
    started: int
    duration_sum: int
    duration_max: int
    delay_sum: int
    delay_max: int


class DeclarationRules(NamedTuple):
    """The rules by which a difference is carried out."""

    create: DecideNew
    edit: DecideEdit
    delete: DecidePlans
