"""Conversion between the values of the model and the rows of the tables.

Columns are in the order of the fields, so that most conversions are slices. That is for speed: each
row that the engine reads or writes is converted here.
"""

from __future__ import annotations

import json
from typing import Any

from quarterjack.rules import (
    Attempt,
    Backfill,
    Ending,
    Gate,
    GateState,
    Kind,
    Outage,
    Outcome,
    Reason,
    Run,
    Schedule,
    SlotsNotRun,
    Specification,
    State,
    Status,
    Unreadable,
)
from quarterjack.rules.policies.service_limits import BudgetUsage, DispatchRate
from quarterjack.store.statements import Row
from quarterjack.store.types import Audit, NewSchedule, StoredSchedule
from quarterjack.telemetry.events import Event

# A lookup in a dictionary takes a third of the time of a call of the enum.
_STATUS = {status.value: status for status in Status}
_STATE = {state.value: state for state in State}
_KIND = {kind.value: kind for kind in Kind}
_REASON: dict[str | None, Reason | None] = {str(reason): reason for reason in Reason}
_REASON[None] = None
SCHEDULE_COLUMNS = -3
"""In the rows of `claim_runs`: key, last success and owner of the schedule, behind the run."""
_RUN = len(Run._fields)
"""Further columns of a run were added by a newer version, and are left alone."""
_AFTER_STATUS, _NOT_RUN, _BACKFILL, _STORED_ONLY = 7, 25, 26, 27
_LAST_SLOT, DELETED_AT, _LAST_FIRED_AT = 21, 31, 33
"""Positions of columns of `schedules`."""

_encode = json.JSONEncoder(separators=(",", ":")).encode
"""Created once: `json.dumps` creates an encoder per call for other than its default separators."""


def json_text(value: object) -> str | None:
    return None if value is None else _encode(value)


def from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def schedule_of(row: Row, specification: Specification | Unreadable) -> Schedule:
    not_run, backfill, last_slot = row[_NOT_RUN], row[_BACKFILL], row[_LAST_SLOT]
    return Schedule._make(
        (
            row[0],
            row[1],
            specification,
            *row[2:6],
            _STATUS[row[6]],
            *row[_AFTER_STATUS:_LAST_SLOT],
            row[_LAST_FIRED_AT],
            *row[_LAST_SLOT + 1 : _NOT_RUN],
            slots_not_run_of(json.loads(not_run)) if not_run else None,
            Backfill(*json.loads(backfill)) if backfill else None,
            last_slot,
            row[DELETED_AT],
        )
    )


def corrupt_schedule_of(row: Row, error: Exception) -> Schedule:
    """A schedule whose row cannot be converted. Planning makes it invalid, with this error."""
    readable = list(row)
    readable[6], readable[_NOT_RUN], readable[_BACKFILL] = Status.ACTIVE, None, None
    return schedule_of(readable, Unreadable(error))


def stored_of(row: Row, schedule: Schedule) -> StoredSchedule:
    return StoredSchedule(schedule, *row[_STORED_ONLY : _STORED_ONLY + 5])


def slots_not_run_of(values: list[Any]) -> SlotsNotRun:
    *bounds, reason = values
    return SlotsNotRun._make((*bounds, _REASON[reason]))


def audit_of(row: Row) -> Audit:
    return Audit._make((*row[:7], from_json(row[7]), from_json(row[8])))


def new_schedule_row(schedule: Schedule, new: NewSchedule, now: int) -> Row:
    first, second = schedule[:2]
    (*state, last_slot), specification = _state_of(schedule), schedule.specification
    state[_LAST_SLOT - 3] = last_slot
    stored_only = specification.name, new.owner, new.origin, now, None
    copied = specification.priority, schedule.last_fired_at, specification.preset
    return (first, second, schedule.created_at, *state, *stored_only, *copied)


def schedule_row(schedule: Schedule) -> Row:
    """The columns that planning and settling may change, and the id."""
    return (*_state_of(schedule), schedule[0])


def _state_of(schedule: Schedule) -> Row:
    if schedule.not_run is None and schedule.backfill is None:  # nearly always
        return schedule[4:29]
    not_run, backfill = json_text(schedule.not_run), _backfill_text(schedule.backfill)
    return (*schedule[4:26], not_run, backfill, schedule.last_slot)


def _backfill_text(backfill: Backfill | None) -> str | None:
    """`again` is left out if it is not set: nodes of an older version know three fields."""
    if backfill is None or backfill.again:
        return json_text(backfill)
    return json_text(backfill[:3])


def run_of(row: Row) -> Run:
    values = list(row[:_RUN])
    # Unknown words come from a newer version; no decision depends on them.
    values[2] = _KIND.get(values[2], Kind.MANUAL)
    values[10] = _STATE[values[10]]
    values[11] = _REASON.get(values[11])
    values[14] = bool(values[14])
    values[22] = _REASON.get(values[22])
    if values[24] is not None:
        values[24] = json.loads(values[24])
    return Run._make(values)


def run_row(run: Run) -> Row:
    """The columns that may change while a run is open, and its identity."""
    state = run.ready_at, run.scope, run.state, run.reason
    return (*state, *run[15:24], json_text(run.result), run.code, run.schedule_id, run.number)


def closed_run_row(run: Run) -> Row:
    """The columns that the end of the last attempt changes, and the identity."""
    state = run.state, run.reason, run.failures, run.losses, run.finished_at, run.error
    return (*state, json_text(run.result), run.code, run.schedule_id, run.number)


def reason_of(word: str | None) -> Reason | None:
    return _REASON[word]


def run_identity(run_id: str) -> tuple[int, int]:
    schedule_id, _, number = run_id.partition("-")
    return int(schedule_id), int(number)


def attempt_row(attempt: Attempt) -> Row:
    outcome = attempt.outcome
    start = attempt.number, attempt.worker, attempt.started_at
    result = outcome.error, json_text(outcome.result), outcome.handed_back, outcome.code
    return (*run_identity(attempt.run_id), *start, outcome.at, outcome.ending, *result)


def attempt_of(row: Row) -> Attempt:
    schedule_id, number, *start, at, ending, error, result, handed_back, code = row[:11]
    outcome = Outcome(
        Ending(ending), at, error, from_json(result), handed_back=bool(handed_back), code=code
    )
    return Attempt._make((f"{schedule_id}-{number}", *start, outcome))


def gate_of(row: Row, probe_ended_at: int | None) -> Gate:
    key, state, *rest = row[:6]
    return Gate._make((key, GateState(state), *rest, probe_ended_at))


def gate_row(gate: Gate) -> Row:
    return gate[:6]


def event_row(event: Event) -> Row:
    return (event.kind, event.at, json_text(event.about), event.detail)


def planning_of(row: Row) -> tuple[int | None, Outage | None, DispatchRate, BudgetUsage]:
    last_step_at, outage, rate, agents = row
    agent_budgets = BudgetUsage()
    if agents:
        agent_outage, agent_rate = json.loads(agents)
        agent_budgets = BudgetUsage(_outage_of(agent_outage), DispatchRate._make(agent_rate))
    found = _outage_of(json.loads(outage)) if outage else None
    return last_step_at, found, DispatchRate._make(json.loads(rate)), agent_budgets


def _outage_of(values: list[int] | None) -> Outage | None:
    return None if values is None else Outage._make(values)


def planning_row(
    last_step_at: int | None, outage: Outage | None, rate: DispatchRate, agents: BudgetUsage
) -> Row:
    return last_step_at, json_text(outage), json_text(rate), json_text(agents)
