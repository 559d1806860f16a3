"""Facts: what a rule needs to know, read in the order in which it is locked: schedules, gates,
runs. Open runs are read after the schedules are locked, or they would be of an older moment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from quarterjack.errors import Conflict, NotFound, shown
from quarterjack.rules import (
    OPEN,
    Budgets,
    DoneSlots,
    Facts,
    Gate,
    Limits,
    Outage,
    Pace,
    Plans,
    Run,
    Schedule,
    Unreadable,
)
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
from quarterjack.store.types import Which

T = TypeVar("T")
DONE_MAX = 10_000
"""So many slots of a backfill are looked at in one step."""
_SURROGATES = re.compile("[\ud800-\udfff]")
"""What no database takes, and so nothing is called."""


def read_row(which: Which) -> Statements[Row]:
    """The row of a schedule: by id, by key, or by a name that is unambiguous."""
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
        raise Conflict(f"{shown(which)} is the name of the schedules {ids}; give an id or a key")
    return rows[0]


def missing_schedule(which: Which) -> NotFound:
    return NotFound(f"there is no schedule {shown(which)}; `quarterjack list` shows all")


def read_run(run_id: str) -> Statements[Run]:
    """One run, by the id that people know."""
    try:
        identities = [run_identity(run_id)]
    except ValueError:
        identities = []
    rows = yield Query("runs_by_ids", (identities,))
    if not rows:
        remedy = "`quarterjack runs list` shows the latest; a run is named as in 42-7"
        raise NotFound(f"there is no run {shown(run_id)}; {remedy}")
    return run_of(rows[0])


def read_metadata(name: str) -> Statements[str | None]:
    rows = yield Query("metadata", (name,))
    return rows[0][0] if rows else None


def read_schedules(
    rows: Sequence[Row], specifications: Specifications
) -> Statements[list[Schedule]]:
    """Schedules from their rows, each with its specification."""
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
    """The facts for planning these; for an operation `scopes` says whose open runs it needs."""
    readable = [each for each in schedules if not isinstance(each.specification, Unreadable)]
    if scopes is None:
        scopes = {
            each.specification.scope(each.id)
            for each in readable
            if each.specification.reads_open_runs
        }
    locks = lock_keys(schedules)
    gates = yield from read_gates(locks, now)
    runs = yield from _runs("open_runs", scopes)
    beyond = {run.gate for run in runs if run.gate is not None} - locks
    if beyond:
        gates |= yield from read_gates(beyond, now)
    done = yield from _read_done(schedules)
    facts = Facts(schedules, grouped(runs), gates, done=done)
    return (yield from read_planning(facts, is_locked=locks_planning))


def lock_keys(schedules: Iterable[Schedule]) -> set[str]:
    """What else is locked when one of these is decided about."""
    return {
        key
        for each in schedules
        if not isinstance(each.specification, Unreadable) and each.specification.shares_locks
        for key in each.specification.lock_keys(each.id)
    }


def lock_gates(schedules: Iterable[Schedule], now: int) -> Statements[None]:
    """Whoever changes several schedules locks their gates before any of their runs."""
    yield from read_gates(lock_keys(schedules), now)


def read_planning(facts: Facts, *, is_locked: bool = False) -> Statements[Facts]:
    """With what all planners share, which is one row. Whoever writes it has locked it."""
    rows = yield Query("budgets_in_use" if is_locked else "planner_state")
    last_look, outage, pace, agents = planning_of(rows[0])
    return facts._replace(last_look=last_look, outage=outage, pace=pace, agents=agents)


def _read_done(schedules: Sequence[Schedule]) -> Statements[dict[int, DoneSlots]]:
    """What backfills leave out, as far as one step goes."""
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
    """May planning this schedule use something that all planners share?"""
    specification = schedule.specification
    is_readable = not isinstance(specification, Unreadable)
    return limits.rations(is_agent=is_readable and specification.is_agent)


def budgets(of: Facts | Plans) -> tuple[Outage | None, Pace, Budgets]:
    return of.outage, of.pace, of.agents


def read_gates(keys: Iterable[str], now: int) -> Statements[dict[str, Gate]]:
    """The gates of these keys, each with the end of its probe, if that was closed."""
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
    """By scope, the first held run of each schedule that has one."""
    runs = yield from _runs("held_runs", scopes)
    return grouped(runs)


def _runs(statement: str, scopes: Iterable[str]) -> Statements[list[Run]]:
    wanted = sorted(scopes)
    if not wanted:
        return []
    rows = yield Query(statement, (wanted,))
    return [run_of(row) for row in rows]


def grouped(runs: Iterable[Run]) -> dict[str, Sequence[Run]]:
    by_scope: dict[str, list[Run]] = {}
    for run in runs:
        by_scope.setdefault(run.scope, []).append(run)
    return dict(by_scope)
