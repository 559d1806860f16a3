"""Checking: does what is stored make sense, and is the file whole that it is in? Of its own files
PostgreSQL takes care itself. Questions only; each is a statement (`queries/checks/`) that finds
what is wrong, and nothing if all is well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quarterjack.store.address import is_postgres
from quarterjack.store.maintenance.reader import MaintenanceReader, open_maintenance_reader

SHOWN = 5
CHECKS = {
    "open_runs_without_schedule": "open runs whose schedule is gone: runs",
    "waiting_runs_of_deleted_schedules": "runs that wait although their schedule was deleted: runs",
    "runs_without_specification": "runs without the version they were planned with: runs",
    "schedules_without_specification": "schedules without their definition: schedules",
    "runs_beyond_the_count": "schedules that have planned more than they counted: schedules",
    "open_runs_that_ended": "runs that have ended and are still open: runs",
    "ended_runs_without_an_end": "runs that are closed and never ended: runs",
    "running_runs_without_lease": "running runs that nobody holds: runs",
    "doubled_keys": "keys that two schedules have: keys",
    "attempts_without_run": "attempts whose run is gone: runs",
    "output_without_run": "output whose run is gone: runs",
    "slots_before_the_cursor": "schedules whose next slot was decided before: schedules",
    "schedules_that_never_wake": "schedules with a next slot that nothing wakes for: schedules",
    "deleted_schedules_that_wake": "deleted schedules that would still be planned: schedules",
    "ids_beyond_the_counter": "schedules whose id would be given again: schedules",
    "gates_with_unknown_probe": "circuit breakers that wait for a run that never was: gates",
}
"""Each question, and what it means if it finds something."""


class Fault(NamedTuple):
    check: str
    wrong: str
    found: list[str]
    """The first of them; one more than is shown means that there are others."""

    def __str__(self) -> str:
        shown = ", ".join(self.found[:SHOWN])
        return f"{self.wrong} {shown}{' and others' if len(self.found) > SHOWN else ''}"


def faults(url: str) -> Iterator[Fault]:
    """All that is wrong with this database."""
    with open_maintenance_reader(url) as look:
        if not is_postgres(url):
            yield from _damages(look)
        for check, wrong in CHECKS.items():
            rows = look.ask(f"checks/{check}", SHOWN + 1)
            if rows:
                yield Fault(check, wrong, [str(value) for (value,) in rows])


def _damages(look: MaintenanceReader) -> Iterator[Fault]:
    rows = look.ask("integrity_check")
    found = [str(text) for (text,) in rows]
    if found != ["ok"]:
        yield Fault("integrity_check", "the file is damaged:", found)
