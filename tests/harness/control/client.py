"""Control requests of one person on a stepped service."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engine.service import SteppedService
from quarterjack.control import Control
from quarterjack.errors import QuarterjackError
from quarterjack.rules import Schedule, ServiceSettings
from quarterjack.store.reader import FoundSchedule
from quarterjack.store.rows import audit_of
from quarterjack.store.transactions.metadata import SERVICE_SETTINGS
from quarterjack.store.types import Audit, StoredSchedule
from quarterjack.views import schedule_view

TABLES = (
    "schedules",
    "specifications",
    "runs",
    "slots_not_run",
    "gates",
    "audit",
    "events",
    "outbox",
)


class ControlClient:
    """`ada("pause", 1)` makes a request as ada."""

    def __init__(
        self,
        service: SteppedService,
        settings: ServiceSettings = ServiceSettings(),  # noqa: B008
        by: str = "ada",
    ) -> None:
        """`settings` become those of the service."""
        self.service = service
        self._control = Control(service.store, by=by, origin="test", owner=by)
        put_settings(service, settings)

    def __call__(self, verb: str, *values: Any, **named: Any) -> Any:
        """The result of a request. The processes are hinted at, as by its notification."""
        result = self.service.run(getattr(self._control, verb)(*values, **named))
        for name in ("planner", "worker"):
            self.service.hint(name)
        self.service.check_leases()
        return result

    def add(self, key: str = "nightly", **fields: Any) -> Schedule:
        (created,) = self("create", {"key": key, "task": "work", **fields})
        return created  # type: ignore[no-any-return]

    def refused(self, verb: str, *values: Any, **named: Any) -> QuarterjackError:
        """The error of a request, which has changed nothing."""
        before = all_rows(self.service)
        with pytest.raises(QuarterjackError) as error:
            self(verb, *values, **named)
        assert all_rows(self.service) == before, "a refused request changes nothing"
        return error.value


def put_settings(service: SteppedService, settings: ServiceSettings) -> None:
    """As the start of a service stores them."""
    service.run(service.store.put_metadata(SERVICE_SETTINGS, settings.to_text()))


def all_rows(service: SteppedService) -> list[Any]:
    return [service.table(table) for table in TABLES]


def audit(service: SteppedService) -> list[Audit]:
    return [audit_of(row) for row in service.table("audit")]


def view(schedule: Schedule) -> dict[str, Any]:
    """As every interface shows it."""
    stored = StoredSchedule(schedule, None, "ada", "test", 0, None)
    return schedule_view(FoundSchedule(stored, None, None))
