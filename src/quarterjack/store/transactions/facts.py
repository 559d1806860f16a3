"""Facts: what the rules need to know, read and locked in the order schedules, gates, runs.

Open runs are read by a statement after the one that locks their schedules: a snapshot from before
the lock could miss runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from quarterjack.errors import Conflict, NotFound, quote
from quarterjack.rules import (
    OPEN,
    DoneSlots,
    Facts,
    Gate,
    Limits,
    Outage,
    Plans,
    Run,
    Schedule,
    Specification,
    Unreadable,
)
from quarterjack.rules.policies.service_limits import BudgetUsage, DispatchRate
from quarterjack.store.rows import (
    corrupt_schedule_of,
    gate_of,
    planning_of,
    run_identity,
    run_of,
    schedule_of,
)
from quarterjack.store.specifications import Specifications
from quarterjack.store.statements import Query, Row, Statements
from quarterjack.store.types import ScheduleRef
from quarterjack.times.instants import MILLISECOND

DONE_MAX = 10_000
"""How many slots of a backfill one step reads."""
_SURROGATES = re.compile("[\ud800-\udfff]")
"""No database stores these characters, so no name has them."""
RECHECK_LOCKED_AFTER = 10 * MILLISECOND
"""Recheck delay for rows that another node has locked."""


def read_row(which: ScheduleRef) -> Statements[Row]:
    """The row of a schedule, by its id, key or unique name."""
    rows: list[Row] = []
    text = str(which)
    if text.isascii() and text.isdigit() and len(text) < 19 and text == str(int(text)):
        rows = yield Query("schedule_by_id", (int(text),))
    if isinstance(which, str) and not _SURROGATES.search(which):
        rows = rows or (yield Query("schedule_by_key", (which,)))
        rows = rows or (yield Query("schedules_by_name", (which,)))
    if not rows:
        raise missing_schedule(which)
    if len(rows) > 1:
        ids = ", ".join(str(row[0]) for row in rows)
        problem = f"several schedules ({ids}) have the name {quote(which)}"
        raise Conflict(f"{problem}; use an id or a key")
    return rows[0]


def missing_schedule(which: ScheduleRef) -> NotFound:
    return NotFound(f"there is no schedule {quote(which)}; `quarterjack list` shows all")


def read_run(run_id: str) -> Statements[Run]:
    try:
        identities = [run_identity(run_id)]
    except ValueError:
        identities = []
    rows = yield Query("runs_by_ids", (identities,))
    if not rows:
        remedy = "`quarterjack runs list` shows the latest; a run has an id like 42-7"
        raise NotFound(f"there is no run {quote(run_id)}; {remedy}")
    return run_of(rows[0])


def read_schedules(
    rows: Sequence[Row], specifications: Specifications
) -> Statements[list[Schedule]]:
    """The schedules of these rows, with their specifications."""
    wanted = {(row[0], row[5]): row[1] for row in rows}
    found = yield from specifications.read(wanted)
    schedules = []
    for row in rows:
        try:
            schedules.append(schedule_of(row, found[row[0], row[5]]))
        except (LookupError, TypeError, ValueError) as error:
            schedules.append(corrupt_schedule_of(row, error))
    return schedules


def read_facts(
    schedules: Sequence[Schedule],
    now: int,
    *,
    scopes: Iterable[str] | None = None,
    locks_planning: bool = False,
) -> Statements[Facts]:
    """The facts for planning these schedules. An operation names the scopes whose open runs it
    needs; else they are those that a specification reads."""
    if scopes is None:
        scopes = {
            specification.scope(each.id)
            for each in schedules
            if not isinstance(specification := each.specification, Unreadable)
            and specification.reads_open_runs
        }
    locks = _lock_keys_of(schedules)
    gates = yield from read_gates(locks, now)
    runs = yield from _runs("open_runs", scopes)
    others = {run.gate for run in runs if run.gate is not None} - locks
    if others:
        gates |= yield from read_gates(others, now)
    done = yield from _read_done(schedules)
    facts = Facts(schedules, _by_scope(runs), gates, done=done)
    return (yield from read_planning(facts, is_locked=locks_planning))


def lock_keys(specifications: Iterable[tuple[int, Specification | Unreadable]]) -> set[str]:
    """The gates to lock for a decision, from the ids and specifications of its schedules."""
    return {
        key
        for schedule_id, specification in specifications
        if not isinstance(specification, Unreadable) and specification.shares_locks
        for key in specification.lock_keys(schedule_id)
    }


def _lock_keys_of(schedules: Iterable[Schedule]) -> set[str]:
    return lock_keys((each.id, each.specification) for each in schedules)


def lock_gates(schedules: Iterable[Schedule], now: int) -> Statements[None]:
    """Before the runs of the first of several schedules are locked, to keep the lock order."""
    yield from read_gates(_lock_keys_of(schedules), now)


def read_planning(facts: Facts, *, is_locked: bool = False) -> Statements[Facts]:
    """Adds what all planners share, which is one row. It must be locked before it is written."""
    rows = yield Query("lock_planner_state" if is_locked else "planner_state")
    last_step_at, outage, dispatch_rate, agents = planning_of(rows[0])
    return facts._replace(
        last_step_at=last_step_at, outage=outage, dispatch_rate=dispatch_rate, agent_budgets=agents
    )


def _read_done(schedules: Sequence[Schedule]) -> Statements[dict[int, DoneSlots]]:
    """The slots that backfills leave out, as far as one step goes."""
    done = {}
    for each in schedules:
        if each.backfill is not None and not each.backfill.again:
            request, cursor, until, _ = each.backfill
            done[each.id] = yield from read_done_slots(each.id, cursor, until, request)
    return done


def read_done_slots(
    schedule_id: int, after: int, until: int, request: int
) -> Statements[DoneSlots]:
    rows = yield Query("done_slots", (schedule_id, after, until, request, DONE_MAX))
    slots = [slot for (slot,) in rows]
    return DoneSlots(frozenset(slots), slots[-1] if len(slots) == DONE_MAX else until)


def uses_budgets(schedule: Schedule, limits: Limits) -> bool:
    """May planning this schedule use budgets that all planners share?"""
    specification = schedule.specification
    is_readable = not isinstance(specification, Unreadable)
    return limits.uses_budgets(is_agent=is_readable and specification.is_agent)


def budgets(of: Facts | Plans) -> tuple[Outage | None, DispatchRate, BudgetUsage]:
    return of.outage, of.dispatch_rate, of.agent_budgets


def read_gates(keys: Iterable[str], now: int) -> Statements[dict[str, Gate]]:
    """The gates of these keys, each with the end of its probe run if that is closed."""
    wanted = sorted(keys)
    if not wanted:
        return {}
    rows = yield Query("gates", (wanted,))
    probes = [row[5] for row in rows if row[5] is not None]
    ends: dict[str, int | None] = dict.fromkeys(probes, now)
    if probes:
        found = yield Query("runs_by_ids", ([run_identity(probe) for probe in probes],))
        for run in map(run_of, found):
            ends[run.id] = None if run.state in OPEN else run.finished_at
    return {row[0]: gate_of(row, ends.get(row[5])) for row in rows}


def read_held_heads(scopes: Iterable[str]) -> Statements[Mapping[str, Sequence[Run]]]:
    """The first held run of each schedule, by scope."""
    return _by_scope((yield from _runs("held_runs", scopes)))


def _runs(statement: str, scopes: Iterable[str]) -> Statements[list[Run]]:
    wanted = sorted(scopes)
    if not wanted:
        return []
    rows = yield Query(statement, (wanted,))
    return [run_of(row) for row in rows]


def _by_scope(runs: Iterable[Run]) -> dict[str, Sequence[Run]]:
    grouped: dict[str, list[Run]] = {}
    for run in runs:
        grouped.setdefault(run.scope, []).append(run)
    return dict(grouped)


def recheck_at(instant: int | None, now: int, *, took_all: bool) -> int | None:
    """When to look again, if something is due at `instant`. What is still due after a step that
    took all it could is locked by another node."""
    if instant is None or instant > now or not took_all:
        return instant
    return now + RECHECK_LOCKED_AFTER
