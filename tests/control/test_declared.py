"""Requests about declared schedules, and with `declared_only`."""

from __future__ import annotations

from typing import Any

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService
from quarterjack import rules
from quarterjack.errors import Conflict
from quarterjack.rules import ServiceSettings, Status
from quarterjack.times.instants import HOUR

FILE = "/etc/quarterjack.yaml"


@pytest.fixture
def service(service: SteppedService) -> SteppedService:
    """With a declared schedule."""
    service.add("declared", every="1h")
    service.execute("update schedules set origin = 'declaration', owner = 'default'")
    return service


def test_a_declared_schedule_is_paused_and_run_but_neither_edited_nor_deleted(
    service: SteppedService,
):
    ada = ControlClient(service, ServiceSettings(file=FILE))
    for verb, values in [("edit", (1, {"every": "2h"})), ("delete", (1,))]:
        error = ada.refused(verb, *values)
        assert (type(error), error.status) == (Conflict, 409)
        assert str(error) == f'schedule "declared" is declared in {FILE}; {verb} it there'

    assert ada("run", 1).id == "1-0"
    assert [each.status for each in ada("pause", 1)] == [Status.PAUSED]


def test_the_error_for_another_declaration_has_its_name(service: SteppedService):
    ada = ControlClient(service, ServiceSettings(name="other", file=FILE))

    assert 'is declared in the declaration "default"' in str(ada.refused("delete", 1))


@pytest.mark.parametrize(
    ("verb", "values"),
    [
        ("create", ({"task": "work", "every": "1h"},)),
        ("edit", (1, {"every": "2h"})),
        ("delete", (1,)),
        ("pause", (1,)),
        ("run", (1,)),
    ],
)
def test_declared_only_refuses_what_a_declaration_can_do(
    service: SteppedService, verb: str, values: tuple[Any, ...]
):
    ada = ControlClient(service, ServiceSettings(file=FILE, declared_only=True))

    error = ada.refused(verb, *values)

    assert (type(error), error.status) == (Conflict, 409)
    assert f"only {FILE} defines schedules here" in str(error)


def test_declared_only_allows_to_cancel_and_to_resume(service: SteppedService):
    ada = ControlClient(service, ServiceSettings(file=FILE, declared_only=True))
    service.work = lambda call: service.sleep(HOUR)
    service.run_until("09:00")

    assert ada("cancel", "1-0").cancel == "requested"
    service.change(1, rules.pause, by="quarterjack")

    assert [each.status for each in ada("resume", 1)] == [Status.ACTIVE]
