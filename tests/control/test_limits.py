"""Limits of the service on requests."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService, failing
from harness.rules.values import at
from quarterjack.errors import Conflict
from quarterjack.rules import Limits, ServiceSettings, Status

NEW = {"task": "work", "every": "1h"}


@pytest.mark.mission("E8")
def test_no_more_than_max_scheduled_jobs_are_active(service: SteppedService):
    ada = ControlClient(service, ServiceSettings(limits=Limits(max_scheduled_jobs=3)))
    ada("create", NEW, NEW)
    error = ada.refused("create", NEW, NEW)
    assert (type(error), error.status) == (Conflict, 409)
    assert "max_scheduled_jobs is 3; pause or delete one, or raise the limit" in str(error)
    ada("create", NEW)

    ada("pause", 1)
    ada("create", NEW)

    assert "max_scheduled_jobs" in str(ada.refused("resume", 1))
    ada("edit", 2, {"every": "2h"})
    ada("delete", 2)
    ada("resume", 1)


@pytest.mark.mission("E8")
def test_without_a_limit_a_thousand_agents_and_any_number_of_others_are_active(
    service: SteppedService, ada: ControlClient
):
    agent = NEW | {"preset": "agent"}
    ada("create", *[agent] * 999)
    error = ada.refused("create", agent, agent)
    assert (type(error), error.status) == (Conflict, 409)
    assert 'of the preset "agent" are active and max_scheduled_jobs is 1000; ' in str(error)
    ada("create", agent, *[NEW] * 3)

    ada("pause", 1)
    ada("create", agent)

    assert "max_scheduled_jobs is 1000" in str(ada.refused("resume", 1))
    ada("edit", 2, {"every": "2h"})
    ada("delete", 2)
    ada("resume", 1)


@pytest.mark.mission("E8")
def test_a_schedule_that_is_paused_until_an_instant_counts_as_active(service: SteppedService):
    ada = ControlClient(service, ServiceSettings(limits=Limits(max_scheduled_jobs=2)))
    disabled = NEW | {"enabled": False}
    ada("create", NEW, disabled, disabled, NEW)
    ada("pause", 1, until=at("10:00"))

    assert "max_scheduled_jobs" in str(ada.refused("create", NEW))
    assert [each.status for each in ada("resume", 1)] == [Status.ACTIVE], "it is counted itself"


@pytest.mark.mission("E8")
def test_max_consecutive_errors_of_the_service_is_the_default_of_schedules(
    service: SteppedService,
):
    ada = ControlClient(service, ServiceSettings(limits=Limits(max_consecutive_errors=2)))
    ada.add(every="1m")
    service.work = failing
    service.run_until("09:00")

    assert len(service.calls) == 2
    assert service.schedule().status_reason == "consecutive_errors"
