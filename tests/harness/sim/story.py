"""The story of a violation: what happened to one schedule, told in the words of the glossary."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from harness.sim.checker import Judge, Violation
from harness.sim.journal import RunRow

SHOWN = 40


def log_fields(judge: Judge, violation: Violation) -> str:
    """The end of the story, up to what was found, or its whole if nobody knows where it was."""
    head = f"{violation.rule}: {_who(violation)}{violation.what}"
    if violation.schedule_id is None:
        return head
    lines = sorted(_lines(judge, violation.schedule_id))
    if violation.at is not None:
        near = [line for line in lines if line[0] <= violation.at + 3600 * 10**6]
        lines = near[-SHOWN:] if near else lines[:SHOWN]
    lines = lines[-SHOWN:]
    return "\n".join([head, *(f"    {_clock(at)}  {what}" for at, _, what in lines)])


def _who(violation: Violation) -> str:
    if violation.run_id is not None:
        return f"run {violation.run_id}: "
    return "" if violation.schedule_id is None else f"schedule {violation.schedule_id}: "


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 10**6, UTC):%Y-%m-%d %H:%M:%S.%f}"


def _lines(judge: Judge, schedule_id: int) -> Iterator[tuple[int, int, str]]:
    """(at, order, what), in the world's own time."""
    for deed in judge.record.deeds:
        if deed.which == schedule_id or schedule_id in deed.made:
            what = f"a person asks: {deed.verb} {deed.words or ''} -> {deed.answer}"
            yield deed.at, -1, what
    before = None
    for row in judge.lives.schedules[schedule_id]:
        moment = judge.moment(row.moment)
        if before is None or (row.status, row.version) != (before.status, before.version):
            why = f" ({row.status_reason})" if row.status_reason else ""
            what = f"version {row.version} is {row.status}{why} as of {_at(moment.now)}"
            yield moment.at, row.moment, f"{moment.place}: {what}"
        before = row
    for not_run in judge.lives.not_run[schedule_id]:
        moment = judge.moment(not_run.moment)
        slots = f"{not_run.count} slots from {_at(not_run.first)} to {_at(not_run.last)}"
        yield moment.at, not_run.moment, f"{moment.place}: passed over {slots}: {not_run.reason}"
    for life in judge.lives.runs_of[schedule_id]:
        yield from _of_run(judge, life)
    for line in judge.record.ledger:
        if line.schedule_id == schedule_id:
            what = (
                f"{line.place}: the work of run {line.run_id}, attempt {line.attempt}, {line.what}"
            )
            yield line.at, 10**9, what
    for each in judge.record.disturbances:
        lasts = (each.until - each.since) / 10**6
        yield each.since, -2, f"fault: {each.kind} ({each.place}, {lasts:g} s)"


def _of_run(judge: Judge, life: list[RunRow]) -> Iterator[tuple[int, int, str]]:
    before: RunRow | None = None
    for row in life:
        moment = judge.moment(row.moment)
        where = f"{moment.place}, {moment.verb} as of {_at(moment.now)}"
        if before is None:
            slot = f"run {row.id} is planned for {_at(row.slot)} ({row.kind}), {row.state}"
            yield moment.at, row.moment, f"{where}: {slot}, ready at {_at(row.ready_at)}"
        elif row.state != before.state:
            why = f" ({row.reason})" if row.reason else ""
            lease = f", lease until {_at(row.lease_until)}" if row.state == "running" else ""
            what = f"run {row.id} is {row.state}{why}, attempt {row.attempt}{lease}"
            yield moment.at, row.moment, f"{where}: {what}"
        before = row


def _at(instant: int | None) -> str:
    return (
        "-" if instant is None else f"{datetime.fromtimestamp(instant / 10**6, UTC):%d %H:%M:%S.%f}"
    )
