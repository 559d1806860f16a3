"""The values that decisions are made of: facts as they are stored, and what is decided from them.

They are tuples with names: frozen, cheap to make, and as a store reads and writes them. Instants
are integers, microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from quarterjack.rules.policies.limits import Budgets, Limits, Outage, Pace
from quarterjack.rules.reasons import MISSED, Reason
from quarterjack.rules.states import State, Status
from quarterjack.rules.text_enum import TextEnum

if TYPE_CHECKING:
    from quarterjack.rules.definition.specification import Specification

T = TypeVar("T")


def quickly_replaced(made: type[T]) -> type[T]:
    """With a `_replace` that takes half the time, for values of many fields of which a few change
    in every decision."""
    places = {name: place for place, name in enumerate(made._fields)}  # type: ignore[attr-defined]

    def _replace(self: T, /, **changes: Any) -> T:
        values = list(self)  # type: ignore[call-overload]
        for name, value in changes.items():
            values[places[name]] = value
        return made._make(values)  # type: ignore[attr-defined,no-any-return]

    made._replace = _replace  # type: ignore[attr-defined]
    return made


class Kind(TextEnum):
    """Who asked for a run: the schedule itself, a person, or a backfill."""

    SLOT = "slot"
    MANUAL = "manual"
    BACKFILL = "backfill"


class SlotsNotRun(NamedTuple):
    """Neighbouring slots that did not run for one reason: one row, known by its first slot."""

    first: int
    last: int
    count: int  # type: ignore[assignment]  # not the method of a tuple
    reason: Reason

    @property
    def state(self) -> State:
        return State.MISSED if self.reason in MISSED else State.SKIPPED


class Backfill(NamedTuple):
    """Slots in (cursor, until] that a person wants to have run: those without a run that has
    succeeded or is open, or all of them, `again`."""

    request: int
    cursor: int
    until: int
    again: bool = False


class DoneSlots(NamedTuple):
    """The slots of a backfill, up to `until`, that have a run which has succeeded or is open."""

    slots: frozenset[int]
    until: int


@quickly_replaced
class Schedule(NamedTuple):
    """What a person wrote, and how far it has come. When its last attempt started and when its
    retry is due can be read from its runs."""

    id: int
    key: str
    specification: Specification
    created_at: int
    anchor_at: int
    """From where `every` and `after` count: creation, the last resume, or the end of a run."""
    cursor: int
    version: int = 1
    status: Status = Status.ACTIVE
    status_reason: str | None = None
    paused_by: str | None = None
    paused_until: int | None = None
    next_slot: int | None = None
    wake_at: int | None = None
    planned_count: int = 0
    run_count: int = 0
    current_repeat: int = 0
    current_retry: int = 0
    error_count: int = 0
    consecutive_errors: int = 0
    last_error: str | None = None
    last_result: str | None = None
    last_run_id: str | None = None
    last_fired_at: int | None = None
    """When the last of its slots was planned."""
    last_success_at: int | None = None
    last_success_run_id: str | None = None
    last_failure_at: int | None = None
    not_run: SlotsNotRun | None = None
    """The row that the next slot may join: nothing has run since."""
    backfill: Backfill | None = None
    last_slot: int | None = None
    """The last of its slots that became a run."""
    deleted_at: int | None = None
    """Set by the store when it deletes the schedule, and never written with it."""

    @property
    def counts_as_active(self) -> bool:
        """Active, or resting only until some instant."""
        return self.status is Status.ACTIVE or self.paused_until is not None


@quickly_replaced
class Run(NamedTuple):
    """One intended execution."""

    schedule_id: int
    number: int
    kind: Kind
    slot: int
    ready_at: int
    planned_at: int
    scope: str
    """Among which runs it must not overlap."""
    gate: str | None = None
    """The key of the gate that it passes."""
    version: int = 1
    request: int = 0
    state: State = State.QUEUED
    reason: Reason | None = None
    priority: int = 0
    queue: str = "default"
    caught_up: bool = False
    attempt: int = 0
    failures: int = 0
    losses: int = 0
    worker: str | None = None
    started_at: int | None = None
    lease_until: int | None = None
    finished_at: int | None = None
    cancel: Reason | None = None
    """Why its attempt is asked to stop."""
    error: str | None = None
    result: Any = None
    repeat: int = 0
    """How many repeats of the schedule had succeeded when it was planned."""

    @property
    def id(self) -> str:
        """The idempotency key of all its attempts."""
        return f"{self.schedule_id}-{self.number}"

    @property
    def waits_to_retry(self) -> bool:
        return self.failures > 0 and self.state is not State.RUNNING


class Ending(TextEnum):
    """How an attempt ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    LOST = "lost"


class Outcome(NamedTuple):
    """How an attempt ended, and what the work said. One that was `handed_back` by a worker that
    stops is lost as well, but no sign of poison."""

    ending: Ending
    at: int
    error: str | None = None
    result: Any = None
    retryable: bool = True
    handed_back: bool = False


class Attempt(NamedTuple):
    """One try of a run by one worker; a row of its own once the run goes on after it."""

    run_id: str
    number: int
    worker: str | None
    started_at: int | None
    outcome: Outcome


class GateState(TextEnum):
    """Of a circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Gate(NamedTuple):
    """What several schedules share: a circuit breaker."""

    key: str
    state: GateState = GateState.CLOSED
    failures: int = 0
    until: int | None = None
    """Until when it stays open."""
    reset_after: int = 0
    """How long it stays open, each time."""
    probe: str | None = None
    """The run that decides whether a half-open one closes."""
    probe_ended_at: int | None = None
    """When that run was closed, if it was, or now if it is forgotten: a fact that is read with the
    gate, and never written."""


class GateChange(NamedTuple):
    """One row of a gate's history."""

    key: str
    at: int
    before: GateState
    after: GateState
    failures: int
    run_id: str | None


class Facts(NamedTuple):
    """All that planning needs to know, read in one transaction after the schedules and their
    `lock_keys` were locked. Open runs are by scope, as far as a specification `reads_open_runs`;
    for an operation they are all, and for an edit those of the new scope too. Gates are those of
    the schedules and of their open runs; one that is missing is closed."""

    schedules: Sequence[Schedule]
    open_runs: Mapping[str, Sequence[Run]] = {}
    gates: Mapping[str, Gate] = {}
    limits: Limits = Limits()
    outage: Outage | None = None
    pace: Pace = Pace()
    agents: Budgets = Budgets()
    """Of the schedules of the preset `agent`, for limits that hold only for these."""
    last_look: int | None = None
    """When the store was last looked at for what is due."""
    done: Mapping[int, DoneSlots] = {}
    """By schedule, for those with a backfill that leaves out what is done."""
    active: int = 0
    """For an operation: how many other schedules are active, or rest only until some instant, of
    those among which this one is counted."""
    request: int = 0
    """For an operation: the number of the request, which no other has."""


class Plan(NamedTuple):
    """The decision for one schedule at one `now`; carried out in the order of the fields."""

    schedule: Schedule
    """As it is afterwards: its cursor, next wake, counters and status."""
    added: Sequence[Run] = ()
    not_run: Sequence[SlotsNotRun] = ()
    released: Sequence[Run] = ()
    """Waiting ones, which may be claimed now: held ones, or one that need not wait to retry."""
    closed: Sequence[Run] = ()
    """Waiting ones, which never start. They may be another schedule's, of the same scope."""
    cancelled: Sequence[Run] = ()
    """Running ones, which are asked to stop; also another schedule's."""
    closes: Reason | None = None
    """Every run of the schedule that still waits is skipped, for this reason."""
    rescoped: str | None = None
    """Every open run of the schedule is judged in this scope from now on."""
    wakes: Sequence[int] = ()
    """Other schedules to be planned at once, by id, those that are active. Whoever carries this out
    must not lose it: nothing else would wake them."""
    deleted: bool = False

    @property
    def cursor(self) -> int:
        return self.schedule.cursor

    @property
    def wake_at(self) -> int | None:
        return self.schedule.wake_at


class Plans(NamedTuple):
    """The decisions for a batch, and what they share: gates and budgets as they are afterwards."""

    plans: Sequence[Plan]
    gates: Mapping[str, Gate]
    gate_changes: Sequence[GateChange]
    outage: Outage | None
    pace: Pace
    agents: Budgets = Budgets()


class Ended(NamedTuple):
    """An attempt that ended: its run as it stood, under which specification, and how."""

    run: Run
    specification: Specification
    outcome: Outcome


class Settlement(NamedTuple):
    """What becomes of a run and its schedule after an outcome."""

    run: Run
    schedule: Schedule
    attempt: Attempt | None = None
    """A row to keep, if the run goes on."""
    closes: Reason | None = None
    """Every run of the schedule that still waits is skipped, for this reason."""
    wakes: int | None = None
    """Another schedule that has something to release, by id."""
    not_run: Sequence[SlotsNotRun] = ()


class Settlements(NamedTuple):
    """The decisions for a batch, carried out in order, and the gates as they are afterwards."""

    settlements: Sequence[Settlement]
    gates: Mapping[str, Gate]
    gate_changes: Sequence[GateChange]
    abandoned: Sequence[Run] = ()
    """Runs that are closed on their own: what they mean for their schedule could not be told."""
    refused: Sequence[tuple[Ended, Exception]] = ()
    """What is not running any more; it changes nothing."""
