"""Rows: how the values of the model lie in tables. Columns are in the order of the fields, so most
of this is slicing."""

from __future__ import annotations

import json
from typing import Any

from quarterjack.rules import (
    Attempt,
    Backfill,
    Budgets,
    Gate,
    GateChange,
    GateState,
    Kind,
    Outage,
    Pace,
    Reason,
    Run,
    Schedule,
    SlotsNotRun,
    Specification,
    State,
    Status,
    Unreadable,
)
from quarterjack.store.statements import Row
from quarterjack.store.types import Audit, NewSchedule, StoredSchedule
from quarterjack.telemetry.events import Event

# Looking a word up in a table costs a third of asking its class.
_STATUS = {status.value: status for status in Status}
_STATE = {state.value: state for state in State}
_KIND = {kind.value: kind for kind in Kind}
_REASON: dict[str | None, Reason | None] = {str(reason): reason for reason in Reason}
_REASON[None] = None
CALLER = -3
"""Behind the columns of a run: those of the schedule that it acts for."""
_RUN = len(Run._fields)
"""What stands behind them is a newer program's, and left alone."""
_AFTER_STATUS, _PASSED, _BACKFILL, _EXTRAS = 7, 25, 26, 27
_LAST_SLOT, DELETED_AT, _LAST_FIRED_AT = 21, 31, 33


_written = json.JSONEncoder(separators=(",", ":")).encode
"""Made once: `json.dumps` makes an encoder for each call that wants other separators."""


def json_text(value: object) -> str | None:
    return None if value is None else _written(value)


def from_json(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def schedule_of(row: Row, specification: Specification | Unreadable) -> Schedule:
    not_run, backfill, last_slot = row[_PASSED], row[_BACKFILL], row[_LAST_SLOT]
    return Schedule._make(
        (
            row[0],
            row[1],
            specification,
            *row[2:6],
            _STATUS[row[6]],
            *row[_AFTER_STATUS:_LAST_SLOT],
            row[_LAST_FIRED_AT],
            *row[_LAST_SLOT + 1 : _PASSED],
            slots_not_run_of(json.loads(not_run)) if not_run else None,
            Backfill(*json.loads(backfill)) if backfill else None,
            last_slot,
            row[DELETED_AT],
        )
    )


def corrupt_schedule_of(row: Row, error: Exception) -> Schedule:
    """One whose row makes no sense: planning finds that out, and makes it invalid."""
    blank = list(row)
    blank[6], blank[_PASSED], blank[_BACKFILL] = Status.ACTIVE, None, None
    return schedule_of(blank, Unreadable(error))


def stored_of(row: Row, schedule: Schedule) -> StoredSchedule:
    return StoredSchedule(schedule, *row[_EXTRAS : _EXTRAS + 5])


def slots_not_run_of(values: list[Any]) -> SlotsNotRun:
    *bounds, reason = values
    return SlotsNotRun._make((*bounds, _REASON[reason]))


def audit_of(row: Row) -> Audit:
    return Audit._make((*row[:7], from_json(row[7]), from_json(row[8])))


def new_schedule_row(schedule: Schedule, new: NewSchedule, now: int) -> Row:
    first, second = schedule[:2]
    (*state, last_slot), said = _state_of(schedule), schedule.specification
    state[_LAST_SLOT - 3] = last_slot
    beside = (said.name, new.owner, new.origin, now, None, said.priority, schedule.last_fired_at)
    return (first, second, schedule.created_at, *state, *beside, said.preset)


def schedule_row(schedule: Schedule) -> Row:
    """What planning and settling may change, and then the id."""
    return (*_state_of(schedule), schedule[0])


def _state_of(schedule: Schedule) -> Row:
    if schedule.not_run is None and schedule.backfill is None:  # nearly always
        return schedule[4:29]
    beside = json_text(schedule.not_run), _backfill_text(schedule.backfill), schedule.last_slot
    return (*schedule[4:26], *beside)


def _backfill_text(backfill: Backfill | None) -> str | None:
    """What is not asked for is left out: a node of an older program knows three fields."""
    if backfill is None or backfill.again:
        return json_text(backfill)
    return json_text(backfill[:3])


def run_of(row: Row) -> Run:
    values = list(row[:_RUN])
    # A word that we do not know is a newer program's: nothing is decided by it.
    values[2] = _KIND.get(values[2], Kind.MANUAL)
    values[10] = _STATE[values[10]]
    values[11] = _REASON.get(values[11])
    values[14] = bool(values[14])
    values[22] = _REASON.get(values[22])
    if values[24] is not None:
        values[24] = json.loads(values[24])
    return Run._make(values)


def run_row(run: Run) -> Row:
    """What may change while a run is open, and then its identity."""
    return (
        run.ready_at,
        run.scope,
        run.state,
        run.reason,
        *run[15:24],
        json_text(run.result),
        run.schedule_id,
        run.number,
    )


def closed_run_row(run: Run) -> Row:
    """What the end of its last attempt changes, and then its identity."""
    return (
        run.state,
        run.reason,
        run.failures,
        run.losses,
        run.finished_at,
        run.error,
        json_text(run.result),
        run.schedule_id,
        run.number,
    )


def reason_of(word: str | None) -> Reason | None:
    return _REASON[word]


def run_identity(run_id: str) -> tuple[int, int]:
    schedule_id, _, number = run_id.partition("-")
    return int(schedule_id), int(number)


def attempt_row(attempt: Attempt) -> Row:
    outcome = attempt.outcome
    return (
        *run_identity(attempt.run_id),
        attempt.number,
        attempt.worker,
        attempt.started_at,
        outcome.at,
        outcome.ending,
        outcome.error,
        json_text(outcome.result),
        outcome.handed_back,
    )


def slots_not_run_row(schedule_id: int, row: SlotsNotRun) -> Row:
    return (schedule_id, *row)


def gate_of(row: Row, probe_ended_at: int | None) -> Gate:
    key, state, *rest = row[:6]
    return Gate._make((key, GateState(state), *rest, probe_ended_at))


def gate_row(gate: Gate) -> Row:
    return gate[:6]


def gate_change_row(change: GateChange) -> Row:
    return change


def event_row(event: Event) -> Row:
    return (event.kind, event.at, json_text(event.about), event.detail)


def planning_of(row: Row) -> tuple[int | None, Outage | None, Pace, Budgets]:
    last_look, outage, pace, agents = row
    among_agents = Budgets()
    if agents:
        theirs, their_pace = json.loads(agents)
        among_agents = Budgets(_outage_of(theirs), Pace._make(their_pace))
    noticed = _outage_of(json.loads(outage)) if outage else None
    return last_look, noticed, Pace._make(json.loads(pace)), among_agents


def _outage_of(values: list[int] | None) -> Outage | None:
    return None if values is None else Outage._make(values)


def planning_row(last_look: int | None, outage: Outage | None, pace: Pace, agents: Budgets) -> Row:
    return last_look, json_text(outage), json_text(pace), json_text(agents)
