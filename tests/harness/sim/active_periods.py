"""The periods in which a schedule was active with the same slots, from the requests of users and
the journal of its row."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.sim.journal import RowChanges, ScheduleRow
from harness.sim.oracle import Definition
from quarterjack.sim.record import Record


@dataclass
class ActivePeriod:
    """Slots in (start, end] are decided in it."""

    schedule_id: int
    start: int
    anchor: int
    created_at: int
    first_call: int
    definitions: list[tuple[int, Definition]]
    """By the store call from which each holds; all of them name the same slots."""
    decided_until: int
    """Slots up to here may have been decided before, if the clock was set back since."""
    end: int | None = None
    last_call: int | None = None
    latest: int = 0
    """The latest `now` of a change of its row."""

    @property
    def definition(self) -> Definition:
        return self.definitions[0][1]

    def contains(self, call_index: int) -> bool:
        after_end = self.last_call is not None and call_index > self.last_call
        return self.first_call <= call_index and not after_end


@dataclass
class ScheduleHistory:
    id: int
    versions: list[tuple[int, Definition]] = field(default_factory=list)
    """By the store call that wrote each; the first is version 1."""
    periods: list[ActivePeriod] = field(default_factory=list)

    def definition(self, version: int) -> Definition:
        return self.versions[version - 1][1]

    def definition_at(self, call_index: int) -> Definition:
        return [each for since, each in self.versions if since <= call_index][-1]

    def period_at(self, call_index: int) -> ActivePeriod | None:
        """The earlier one, if an edit ended one and began another in this call."""
        return next((each for each in self.periods if each.contains(call_index)), None)


def histories(
    record: Record, rows: RowChanges, errors_max: int | None
) -> dict[int, ScheduleHistory]:
    found: dict[int, ScheduleHistory] = {}
    done = [(each.call, each) for each in record.requests if each.call is not None]
    for call_index, request in sorted(done, key=lambda each: each[0]):
        if request.action == "create":
            (schedule_id,) = request.created
            assert isinstance(schedule_id, int)
            definition = Definition(request.arguments["fields"], errors_max)
            found[schedule_id] = ScheduleHistory(schedule_id, [(call_index, definition)])
        elif request.action == "edit":
            assert isinstance(request.subject, int)
            history = found[request.subject]
            latest = history.versions[-1][1]
            history.versions.append((call_index, latest.patched(request.arguments["changes"])))
    for history in found.values():
        _add_periods(history, rows.schedules[history.id], record)
    return found


def _add_periods(history: ScheduleHistory, rows: list[ScheduleRow], record: Record) -> None:
    before: ScheduleRow | None = None
    current: ActivePeriod | None = None
    decided_until = 0
    for row in rows:
        now = record.calls[row.call_index].now
        assert now is not None
        was_active = before is not None and before.status == "active" and before.deleted_at is None
        is_active = row.status == "active" and row.deleted_at is None
        edited = before is not None and row.version != before.version
        if current is not None and was_active and is_active and edited:
            definition = history.definition(row.version)
            if definition.identity_of_slots() == current.definition.identity_of_slots():
                current.definitions.append((row.call_index, definition))
            else:
                _end(current, row, now)
                was_active = False
        if was_active and not is_active and current is not None:
            _end(current, row, now)
            current = None
        if is_active and not was_active:
            current = _new_period(history, row, before, now, decided_until)
            history.periods.append(current)
        if current is not None:
            current.latest = max(current.latest, now)
        decided_until = max(decided_until, now)
        before = row


def _end(period: ActivePeriod, row: ScheduleRow, now: int) -> None:
    period.end, period.last_call = now, row.call_index
    period.latest = max(period.latest, now)


def _new_period(
    history: ScheduleHistory,
    row: ScheduleRow,
    before: ScheduleRow | None,
    now: int,
    decided_until: int,
) -> ActivePeriod:
    definition = history.definition(row.version)
    start, anchor = now, row.created_at
    if before is not None:
        is_edit = before.version != row.version
        paused_until = before.paused_until if before.status == "paused" else None
        if paused_until is not None and not is_edit:
            start = min(now, paused_until)
        if history.periods:
            anchor = history.periods[-1].anchor
        if definition.counts_from_resume or (is_edit and definition.recurrence_field == "after"):
            anchor = start
    definitions = [(row.call_index, definition)]
    created_at, first_call = row.created_at, row.call_index
    return ActivePeriod(
        history.id, start, anchor, created_at, first_call, definitions, decided_until
    )
