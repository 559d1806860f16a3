"""Tenures: the stretches over which a schedule was active under one naming of its slots, worked out
from what people asked for and from the journal of its row."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.sim.journal import Lives, ScheduleRow
from harness.sim.oracle import Definition
from quarterjack.sim.record import Record


@dataclass
class Tenure:
    """Slots in (start, end] are decided in it; `began` and `ended` are moments."""

    schedule_id: int
    start: int
    anchor: int
    created_at: int
    began: int
    definitions: list[tuple[int, Definition]]
    """By the moment from which each holds; all of them name the same slots."""
    settled_until: int
    """Up to here slots may have been decided before it: then the clock was set back since."""
    end: int | None = None
    ended: int | None = None
    reason: str | None = None
    latest: int = 0
    """The latest instant at which it was looked at."""

    @property
    def when(self) -> Definition:
        return self.definitions[0][1]

    def definition_at(self, moment: int) -> Definition:
        held = [each for since, each in self.definitions if since <= moment]
        return held[-1] if held else self.when

    def holds(self, moment: int) -> bool:
        return self.began <= moment and (self.ended is None or moment <= self.ended)


@dataclass
class History:
    """Of one schedule."""

    id: int
    versions: list[tuple[int, Definition]] = field(default_factory=list)
    """By the moment at which each was written; the first is version 1."""
    tenures: list[Tenure] = field(default_factory=list)

    def definition(self, version: int) -> Definition:
        return self.versions[version - 1][1]

    def definition_at(self, moment: int) -> Definition:
        return [each for since, each in self.versions if since <= moment][-1]

    def tenure_at(self, moment: int) -> Tenure | None:
        """The newest that holds: an edit ends one and begins another in the same moment."""
        held = [each for each in self.tenures if each.holds(moment)]
        return held[0] if held else None


def histories(record: Record, lives: Lives, errors: int | None) -> dict[int, History]:
    found: dict[int, History] = {}
    done = [(deed.moment, deed) for deed in record.deeds if deed.moment is not None]
    for moment, deed in sorted(done, key=lambda each: each[0]):
        if deed.verb == "create":
            (identity,) = deed.made
            assert isinstance(identity, int)
            definition = Definition(deed.words["fields"], errors)
            found[identity] = History(identity, [(moment, definition)])
        elif deed.verb == "edit":
            assert isinstance(deed.which, int)
            history = found[deed.which]
            latest = history.versions[-1][1]
            history.versions.append((moment, latest.patched(deed.words["changes"])))
    for history in found.values():
        _tell_tenures(history, lives.schedules[history.id], record)
    return found


def _tell_tenures(history: History, rows: list[ScheduleRow], record: Record) -> None:
    before: ScheduleRow | None = None
    current: Tenure | None = None
    settled_until = 0
    for row in rows:
        now = record.moments[row.moment].now
        assert now is not None
        was_active = before is not None and before.status == "active" and before.deleted_at is None
        is_active = row.status == "active" and row.deleted_at is None
        edited = before is not None and row.version != before.version
        if current is not None and was_active and is_active and edited:
            definition = history.definition(row.version)
            if definition.when() == current.when.when():
                current.definitions.append((row.moment, definition))
            else:
                _end(current, row, now)
                was_active = False
        if was_active and not is_active and current is not None:
            _end(current, row, now)
            current = None
        if is_active and not was_active:
            current = _begun(history, row, before, now, settled_until)
            history.tenures.append(current)
        if current is not None:
            current.latest = max(current.latest, now)
        settled_until = max(settled_until, now)
        before = row


def _end(tenure: Tenure, row: ScheduleRow, now: int) -> None:
    tenure.end, tenure.ended = now, row.moment
    tenure.latest = max(tenure.latest, now)
    tenure.reason = "deleted" if row.deleted_at is not None else row.status_reason or row.status


def _begun(
    history: History, row: ScheduleRow, before: ScheduleRow | None, now: int, settled_until: int
) -> Tenure:
    definition = history.definition(row.version)
    start, anchor = now, row.created_at
    if before is not None:
        rested_until = before.paused_until if before.status == "paused" else None
        if rested_until is not None and before.version == row.version:
            start = min(now, rested_until)
        moved = before.version != row.version
        last = history.tenures[-1] if history.tenures else None
        anchor = last.anchor if last is not None else row.created_at
        if definition.counts_anew or (moved and definition.naming == "after"):
            anchor = start
    return Tenure(
        history.id,
        start,
        anchor,
        row.created_at,
        row.moment,
        [(row.moment, definition)],
        settled_until,
    )
