"""The story of a violation: what happened to its schedule, in order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from harness.sim.checker import Checker
from harness.sim.journal import RunRow
from harness.sim.violation import Violation

LINES_MAX = 40
HOUR = 3600 * 10**6


def story_of(checker: Checker, violation: Violation) -> str:
    """The last lines up to the violation, or of the whole story if its instant is unknown."""
    title = f"{violation.rule}: {_subject(violation)}{violation.what}"
    if violation.schedule_id is None:
        return title
    lines = sorted(_lines(checker, violation.schedule_id))
    if violation.at is not None:
        near = [line for line in lines if line[0] <= violation.at + HOUR]
        lines = near[-LINES_MAX:] if near else lines[:LINES_MAX]
    lines = lines[-LINES_MAX:]
    return "\n".join([title, *(f"    {_timestamp(at)}  {what}" for at, _, what in lines)])


def _subject(violation: Violation) -> str:
    if violation.run_id is not None:
        return f"run {violation.run_id}: "
    return "" if violation.schedule_id is None else f"schedule {violation.schedule_id}: "


def _lines(checker: Checker, schedule_id: int) -> Iterator[tuple[int, int, str]]:
    """(simulated time, order within it, text)."""
    for request in checker.record.requests:
        if request.subject == schedule_id or schedule_id in request.created:
            what = f"user: {request.action} {request.arguments or ''} -> {request.answer}"
            yield request.at, -1, what
    before = None
    for row in checker.rows.schedules[schedule_id]:
        call = checker.call(row)
        if before is None or (row.status, row.version) != (before.status, before.version):
            why = f" ({row.status_reason})" if row.status_reason else ""
            what = f"version {row.version} is {row.status}{why} as of {_short(call.now)}"
            yield call.at, row.call_index, f"{call.actor}: {what}"
        before = row
    for not_run in checker.rows.slots_not_run[schedule_id]:
        call = checker.call(not_run)
        slots = f"{not_run.count} slots from {_short(not_run.first)} to {_short(not_run.last)}"
        yield call.at, not_run.call_index, f"{call.actor}: {slots} not run: {not_run.reason}"
    for versions in checker.rows.runs_of[schedule_id]:
        yield from _lines_of_run(checker, versions)
    for event in checker.record.work:
        if event.schedule_id == schedule_id:
            work = f"the work of run {event.run_id}, attempt {event.attempt}, {event.event}"
            yield event.at, 10**9, f"{event.actor}: {work}"
    for fault in checker.record.disturbances:
        seconds = (fault.until - fault.since) / 10**6
        yield fault.since, -2, f"fault: {fault.kind} ({fault.actor}, {seconds:g} s)"


def _lines_of_run(checker: Checker, versions: list[RunRow]) -> Iterator[tuple[int, int, str]]:
    before: RunRow | None = None
    for row in versions:
        call = checker.call(row)
        where = f"{call.actor}, {call.transaction} as of {_short(call.now)}"
        if before is None:
            slot = f"run {row.id} is planned for {_short(row.slot)} ({row.kind}), {row.state}"
            yield call.at, row.call_index, f"{where}: {slot}, ready at {_short(row.ready_at)}"
        elif row.state != before.state:
            why = f" ({row.reason})" if row.reason else ""
            lease = f", lease until {_short(row.lease_until)}" if row.state == "running" else ""
            what = f"run {row.id} is {row.state}{why}, attempt {row.attempt}{lease}"
            yield call.at, row.call_index, f"{where}: {what}"
        before = row


def _timestamp(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 10**6, UTC):%Y-%m-%d %H:%M:%S.%f}"


def _short(instant: int | None) -> str:
    return "-" if instant is None else _timestamp(instant)[8:]
