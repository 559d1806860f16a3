"""The values that rules read and return: stored rows, facts for a decision, and decisions.

They are named tuples: immutable, cheap to create, with fields in the order of the database columns
where they are stored. Instants are integers: microseconds since 1970, UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterjack.rules.fast_replace import fast_replace
from quarterjack.rules.policies.service_limits import BudgetUsage, DispatchRate, Limits, Outage
from quarterjack.rules.reasons import MISSED, Reason
from quarterjack.rules.states import State, Status
from quarterjack.rules.text_enum import TextEnum

if TYPE_CHECKING:
    from quarterjack.rules.definition.specification import Specification


class Kind(TextEnum):
    """What a run was created by: a slot of the schedule, a request to run now, or a backfill."""

    SLOT = "slot"
    MANUAL = "manual"
    BACKFILL = "backfill"


class SlotsNotRun(NamedTuple):
    """Neighbouring slots that did not run for the same reason: one row, with `first` in its key."""

    first: int
    last: int
    count: int  # type: ignore[assignment]  # hides tuple.count
    reason: Reason

    @property
    def state(self) -> State:
        return State.MISSED if self.reason in MISSED else State.SKIPPED


class Backfill(NamedTuple):
    """Slots in (cursor, until] to run: those without a succeeded or open run, or `again` all."""

    request: int
    cursor: int
    until: int
    again: bool = False


class DoneSlots(NamedTuple):
    """The slots of a backfill, up to `until`, that already have a succeeded or open run."""

    slots: frozenset[int]
    until: int


@fast_replace
class Schedule(NamedTuple):
    """A specification and the state of its planning. When the last attempt started and when a retry
    is due can be read from the runs."""

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
    """When the last run of a slot was planned."""
    last_success_at: int | None = None
    last_success_run_id: str | None = None
    last_failure_at: int | None = None
    not_run: SlotsNotRun | None = None
    """The row that the next slot may extend, if nothing has run since."""
    backfill: Backfill | None = None
    last_slot: int | None = None
    """The last slot that became a run."""
    deleted_at: int | None = None
    """Read-only: the store sets it in the statement that deletes the schedule."""

    @property
    def counts_as_active(self) -> bool:
        """Whether it counts for `max_scheduled_jobs`: active, or paused until some instant."""
        return self.status is Status.ACTIVE or self.paused_until is not None


@fast_replace
class Run(NamedTuple):
    """One intended execution."""

    schedule_id: int
    number: int
    kind: Kind
    slot: int
    ready_at: int
    planned_at: int
    scope: str
    """Runs with the same scope are checked for overlap: the schedule's id, or plugin/command."""
    gate: str | None = None
    """The key of its gate, if it has one."""
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
    """Set once cancelling a running attempt was requested: the reason."""
    error: str | None = None
    result: Any = None
    repeat: int = 0
    """The schedule's `current_repeat` when the run was planned."""
    code: str | None = None
    """That of the last attempt, if it failed with one."""

    @property
    def id(self) -> str:
        """Also the idempotency key of every attempt."""
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
    SKIPPED = "skipped"
    """The task had nothing to do."""


class Outcome(NamedTuple):
    """How an attempt ended, and what the target returned. `handed_back`: the attempt is `lost`
    because its worker shut down, which does not count as a loss of the run."""

    ending: Ending
    at: int
    error: str | None = None
    result: Any = None
    retryable: bool = True
    handed_back: bool = False
    code: str | None = None
    """What programs can compare, if the target named its error."""
    retry_after: int | None = None
    """Until the next attempt, instead of the delay of the retry policy."""


class Attempt(NamedTuple):
    """One try of a run by one worker. Only an attempt that another one follows has its own row."""

    run_id: str
    number: int
    worker: str | None
    started_at: int | None
    outcome: Outcome


class GateState(TextEnum):
    """State of a circuit breaker."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Gate(NamedTuple):
    """A circuit breaker that several schedules may share."""

    key: str
    state: GateState = GateState.CLOSED
    failures: int = 0
    until: int | None = None
    """Until when it stays open."""
    reset_after: int = 0
    """How long it stays open each time."""
    probe: str | None = None
    """The id of the run that decides whether a half-open breaker closes."""
    probe_ended_at: int | None = None
    """When the probe run was closed, or now if that run was pruned. Read with the gate and never
    written."""


class GateChange(NamedTuple):
    """One row of a gate's history."""

    key: str
    at: int
    before: GateState
    after: GateState
    failures: int
    run_id: str | None


class Facts(NamedTuple):
    """Everything that a decision depends on, read in one transaction after the schedules and their
    `lock_keys` were locked.

    `open_runs` are by scope, and may be left out where no specification `reads_open_runs`; for an
    operation they are complete, and for an edit include the new scope. `gates` are those of the
    schedules and of their open runs; a gate that is missing is closed.
    """

    schedules: Sequence[Schedule]
    open_runs: Mapping[str, Sequence[Run]] = {}
    gates: Mapping[str, Gate] = {}
    limits: Limits = Limits()
    outage: Outage | None = None
    dispatch_rate: DispatchRate = DispatchRate()
    agent_budgets: BudgetUsage = BudgetUsage()
    """Usage of the limits that apply only among schedules with the preset `agent`."""
    last_step_at: int | None = None
    """When a planner last checked the store for due schedules."""
    done: Mapping[int, DoneSlots] = {}
    """By schedule id, for schedules with a backfill that skips finished slots."""
    active: int = 0
    """For an operation: how many other schedules count as active for `max_scheduled_jobs`."""
    request: int = 0
    """For an operation: the unique number of the request."""


class Plan(NamedTuple):
    """The decision for one schedule at one `now`. A store applies the fields in this order."""

    schedule: Schedule
    """The schedule afterwards: cursor, next wake, counters and status."""
    added: Sequence[Run] = ()
    not_run: Sequence[SlotsNotRun] = ()
    released: Sequence[Run] = ()
    """Waiting runs that may be claimed from now on: held runs, or a retry without further delay."""
    closed: Sequence[Run] = ()
    """Waiting runs that will never start; possibly of other schedules with the same scope."""
    cancelled: Sequence[Run] = ()
    """Running runs to cancel; possibly of other schedules with the same scope."""
    closes: Reason | None = None
    """Skip every waiting run of the schedule, with this reason."""
    rescoped: str | None = None
    """Move every open run of the schedule to this scope."""
    wakes: Sequence[int] = ()
    """Ids of other schedules to plan now, if they are active. It must not be lost: nothing else
    would wake them."""
    deleted: bool = False


class Plans(NamedTuple):
    """The plans of a batch, with the gates that changed and the budgets afterwards."""

    plans: Sequence[Plan]
    gates: Mapping[str, Gate]
    gate_changes: Sequence[GateChange]
    outage: Outage | None
    dispatch_rate: DispatchRate
    agent_budgets: BudgetUsage = BudgetUsage()


class Ended(NamedTuple):
    """An attempt that ended: its run as claimed, the specification of that run, and the outcome."""

    run: Run
    specification: Specification
    outcome: Outcome


class Settlement(NamedTuple):
    """The run and its schedule after an attempt has ended."""

    run: Run
    schedule: Schedule
    attempt: Attempt | None = None
    """The attempt to keep as a row, if another one follows."""
    closes: Reason | None = None
    """Skip every waiting run of the schedule, with this reason."""
    wakes: int | None = None
    """Id of another schedule that can now release a held run."""
    not_run: Sequence[SlotsNotRun] = ()


class Settlements(NamedTuple):
    """The settlements of a batch, to apply in order, with the gates that changed."""

    settlements: Sequence[Settlement]
    gates: Mapping[str, Gate]
    gate_changes: Sequence[GateChange]
    abandoned: Sequence[Run] = ()
    """Runs that are closed without a change to their schedule, because settling raised an error."""
    refused: Sequence[tuple[Ended, Exception]] = ()
    """Attempts whose run is not running any more; nothing changes."""
