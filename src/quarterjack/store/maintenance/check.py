"""`db check`: is the stored data consistent, and is a SQLite file intact? (PostgreSQL checks its
own files.) Each check is a query in `sql/checks/` that finds inconsistent rows; it only reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from quarterjack.store.address import is_postgres
from quarterjack.store.maintenance.reader import MaintenanceReader, open_maintenance_reader
from quarterjack.store.maintenance.results import SHOWN, some

CHECKS = {
    "open_runs_without_schedule": "open runs of missing schedules",
    "waiting_runs_of_deleted_schedules": "waiting runs of deleted schedules",
    "runs_without_specification": "runs without a specification",
    "schedules_without_specification": "schedules without a specification",
    "runs_beyond_the_count": "schedules with a run number above their counter",
    "open_runs_that_ended": "open runs with an end time",
    "ended_runs_without_an_end": "closed runs without an end time",
    "running_runs_without_lease": "running runs without a lease",
    "doubled_keys": "keys of more than one schedule",
    "attempts_without_run": "attempts of missing runs",
    "output_without_run": "output of missing runs",
    "progress_without_run": "progress of missing runs",
    "slots_before_the_cursor": "schedules with a next slot before their cursor",
    "schedules_that_never_wake": "schedules with a next slot but no wake time",
    "deleted_schedules_that_wake": "deleted schedules with a wake time",
    "ids_beyond_the_counter": "schedules with an id above the counter",
    "gates_with_unknown_probe": "circuit breakers that wait for an unknown probe",
}
"""Each check, and what the rows that it finds are."""


class Fault(NamedTuple):
    check: str
    wrong: str
    found: list[str]
    """One more than is shown means that there are others."""

    def __str__(self) -> str:
        return f"{self.wrong}: {some(self.found)}"


def faults(url: str) -> Iterator[Fault]:
    with open_maintenance_reader(url) as reader:
        if not is_postgres(url):
            yield from _corruption(reader)
        for check, wrong in CHECKS.items():
            rows = reader.query(f"checks/{check}", SHOWN + 1)
            if rows:
                yield Fault(check, wrong, [str(value) for (value,) in rows])


def _corruption(reader: MaintenanceReader) -> Iterator[Fault]:
    found = [str(text) for (text,) in reader.query("integrity_check")]
    if found != ["ok"]:
        yield Fault("integrity_check", "the file is corrupt", found)
