"""The arguments and results of the transactions of a store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from quarterjack.rules import (
    Ended,
    Facts,
    Gate,
    Plans,
    Reason,
    Run,
    Schedule,
    ServiceSettings,
    Settlements,
    Specification,
)

DecidePlans: TypeAlias = Callable[[Facts, int], Plans]
DecideSettlements: TypeAlias = Callable[
    [Sequence[Ended], Mapping[int, Schedule], Mapping[str, Gate], Mapping[str, Sequence[Run]], int],
    Settlements,
]


class HeartbeatResult(NamedTuple):
    """What there is to do, for processes that have missed a notification."""

    next_wake: int | None
    has_queued_runs: bool
    next_lease_end: int | None
    ahead: int = 0
    """How far the clock of this host is ahead of the clock of the database."""


class NodeInfo(NamedTuple):
    """A registered node. Its process may have died since its last heartbeat."""

    name: str
    host: str
    pid: int
    plans: bool
    works: bool
    program: str
    """The version of Quarterjack."""
    zone_data: str
    declaration: str
    revision: str
    """The revision of that declaration that it was started with."""
    started_at: int
    seen_at: int
    ahead: int = 0
    """How far the clock of its host is ahead of the clock of the database."""
    process: str = ""
    """The process, as `clock.process_identity` names it."""
    capabilities: str | None = None
    """What its worker can run (`rules.definition.capabilities`), as JSON; None is a node of an
    older program."""


class Planned(NamedTuple):
    due_count: int
    """How many schedules were due. If that is the limit, there may be more."""
    added: int
    next_wake: int | None
    has_cancelled: bool = False
    """A running attempt was asked to stop."""
    has_notifications: bool = False
    """There are new notifications to send."""


class Claim(NamedTuple):
    """A run that a worker has claimed, and what it needs to know to execute it."""

    run: Run
    specification: Specification
    key: str
    last_success_at: int | None
    owner: str | None


class Claimed(NamedTuple):
    claims: Sequence[Claim]
    next_ready: int | None
    """When the next queued run is ready; it may be now."""


Leases: TypeAlias = Mapping[tuple[str, int], Reason | None]
"""The attempts that the worker still holds, by run and number, with the reason for those that are
to stop."""


class Settled(NamedTuple):
    settled: Sequence[Run]
    fenced: Sequence[Run]
    """Attempts that this worker no longer holds, so that nothing was written."""
    next_wake: int | None
    has_notifications: bool


class Rescued(NamedTuple):
    lost: Sequence[Run]
    next_lease_end: int | None
    next_wake: int | None


class Chunk(NamedTuple):
    """A piece of the output of an attempt."""

    schedule_id: int
    number: int
    attempt: int
    sequence: int
    at: int
    """When its first byte was written."""
    data: bytes
    position: int | None = None
    """Where it begins in the whole output of the attempt; bytes between two chunks were omitted.
    None is not known: it was stored by an older program, or says why output is missing."""
    marks: str | None = None
    """When its parts were written, and at which level: see `store.output_lines`."""


class ExpiredChunks(NamedTuple):
    """Chunks of an attempt to delete, because newer ones have taken their place."""

    schedule_id: int
    number: int
    attempt: int
    first: int
    """A sequence number."""
    until: int
    """The first one to keep."""


class Progress(NamedTuple):
    """What an attempt has last reported of itself."""

    schedule_id: int
    number: int
    attempt: int
    at: int
    fraction: float | None = None
    text: str | None = None
    times_out_at: int | None = None
    """When it times out, if the attempt has extended its timeout."""


class Reports(NamedTuple):
    """What is stored of running attempts at once."""

    chunks: Sequence[Chunk] = ()
    expired: Sequence[ExpiredChunks] = ()
    progress: Sequence[Progress] = ()


class Notification(NamedTuple):
    """An event to notify people of. Its id stays the same if it is sent again."""

    id: int
    kind: str
    at: int
    about: Sequence[str]
    detail: str | None


class NewSchedule(NamedTuple):
    key: str
    """If empty, the schedule is named after its id."""
    specification: Specification
    owner: str | None
    origin: str


DecideNew: TypeAlias = Callable[[int, NewSchedule, int], Schedule]
"""Creates a schedule from an id, its definition, and the number of other active schedules."""
PrepareNew: TypeAlias = Callable[[ServiceSettings], tuple[Sequence[NewSchedule], DecideNew]]
"""Reads new definitions under the settings of the service, and how they are created."""


class Difference(NamedTuple):
    """The changes that make the stored schedules equal to a declaration."""

    added: Sequence[NewSchedule]
    changed: Sequence[tuple[Schedule, Specification]]
    removed: Sequence[Schedule]
    metadata: Mapping[str, str] = {}
    """Stored in the same transaction."""
    adopted: int = 0
    """How many schedules of the older default name were taken over."""
    is_refused: bool = False
    """It is an older revision than a running node has."""


class Declared(NamedTuple):
    """The stored revisions of a declaration, where it was applied from if it has no written name,
    and the nodes that may have been started with one."""

    revisions: str | None
    place: str | None
    nodes: Sequence[NodeInfo]


class StoredSchedule(NamedTuple):
    """A schedule with the columns that no rule needs."""

    schedule: Schedule
    name: str | None
    owner: str | None
    origin: str
    updated_at: int
    deleted_at: int | None


ScheduleRef: TypeAlias = int | str
"""An id, or a text: an id, a key, or a name that only one schedule has."""
DecideEdit: TypeAlias = Callable[[Facts, Specification, int], Plans]
DecideRun: TypeAlias = Callable[[Facts, Run, int], Plans]
Patch: TypeAlias = Callable[[ServiceSettings, Schedule, int], Specification]
"""Makes the new definition of a schedule from its current one."""


class Caller(NamedTuple):
    """Who made a control request, through which interface (API, CLI, ...), and which operation it
    is. `permit` raises if this schedule may not be changed so."""

    by: str
    origin: str
    verb: str
    permit: Callable[[ServiceSettings, StoredSchedule], None] = lambda *_: None


class Audit(NamedTuple):
    """An entry of the audit log: one request, and the fields that it changed."""

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
    """A position in the order in which runs ended."""

    finished_at: int = 0
    schedule_id: int = 0
    number: int = -1


class DayStats(NamedTuple):
    """The runs of a schedule that ended on one day (UTC): how many ended in each state, and the
    durations and start delays of the last attempts of those that started."""

    day: int
    """Days since 1970."""
    schedule_id: int
    """0 means all schedules together."""
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
    create: DecideNew
    edit: DecideEdit
    delete: DecidePlans
