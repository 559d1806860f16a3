"""Requests use the settings of the service that are stored when their transaction runs."""

from __future__ import annotations

from typing import Any

import pytest

from harness.control.client import ControlClient, put_settings
from harness.engine.service import SteppedService
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import Limits, ServiceSettings

NEW = {"task": "work", "every": "1h"}
LIMITED = ServiceSettings(limits=Limits(max_scheduled_jobs=1))
OTHER_QUEUES = ServiceSettings(queues=("slow",))
DECLARED_ONLY = ServiceSettings(file="/etc/q.yaml", declared_only=True)


@pytest.mark.parametrize(
    ("settings", "verb", "values", "problem"),
    [
        (LIMITED, "create", (NEW,), "max_scheduled_jobs is 1"),
        (LIMITED, "resume", ("paused",), "max_scheduled_jobs is 1"),
        (LIMITED, "edit", ("paused", {"enabled": True}), "max_scheduled_jobs is 1"),
        (OTHER_QUEUES, "create", (NEW,), 'queue "default" is not declared; use one of slow'),
        (OTHER_QUEUES, "edit", ("active", {"every": "2h"}), 'queue "default" is not declared'),
        (DECLARED_ONLY, "create", (NEW,), "only /etc/q.yaml defines schedules here"),
        (DECLARED_ONLY, "edit", ("active", {"every": "2h"}), "only /etc/q.yaml defines"),
        (DECLARED_ONLY, "delete", ("active",), "only /etc/q.yaml defines"),
        (DECLARED_ONLY, "pause", ("active",), "only /etc/q.yaml defines"),
        (DECLARED_ONLY, "run", ("active",), "only /etc/q.yaml defines"),
    ],
)
def test_settings_that_were_stored_after_the_start_of_a_client_apply(
    service: SteppedService,
    ada: ControlClient,
    settings: ServiceSettings,
    verb: str,
    values: tuple[Any, ...],
    problem: str,
):
    ada.add("active", every="1h")
    ada.add("paused", every="1h", enabled=False)

    put_settings(service, settings)

    error = ada.refused(verb, *values)
    assert isinstance(error, Conflict | InvalidSpecification)
    assert problem in str(error)


@pytest.mark.parametrize("settings", [LIMITED, OTHER_QUEUES, DECLARED_ONLY])
def test_settings_that_are_stored_during_a_request_apply(
    service: SteppedService, ada: ControlClient, settings: ServiceSettings
):
    """A request reads the clock first, and its transaction begins after that."""
    ada.add(every="1h")
    read_clock = service.store.read_clock
    text = settings.to_text()

    async def another_start() -> int:
        await service.store.put_metadata("service_settings", text)
        return int(await read_clock())

    service.store.read_clock = another_start
    with pytest.raises((Conflict, InvalidSpecification)):
        ada("create", NEW)

    assert len(service.table("schedules")) == 1


def test_defaults_that_were_stored_after_the_start_of_a_client_apply(
    service: SteppedService, ada: ControlClient
):
    ada.add("before", every="1h")
    put_settings(service, ServiceSettings(defaults={"max_retries": 7}))

    assert ada.add("after", every="1h").specification.retry.retries_max == 7
    edited = ada("edit", "before", {"max_retries": None})
    assert edited.specification.retry.retries_max == 7
