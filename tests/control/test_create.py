"""Creating schedules."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient
from harness.engine.service import SteppedService
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import ServiceSettings
from quarterjack.times.instants import to_text


def test_a_schedule_without_a_key_is_named_after_its_id(
    service: SteppedService, ada: ControlClient
):
    ada.add("first", every="1h")

    (created,) = ada("create", {"task": "work", "cron": "H 3 * * *"})

    assert (created.id, created.key) == (2, "schedule-2")
    assert service.schedule(2).specification.recurrence.to_json()["key"] == "schedule-2"


def test_owner_and_origin_are_recorded(service: SteppedService, ada: ControlClient):
    ada.add(every="1h")

    assert service.execute("select owner, origin from schedules") == [("ada", "test")]


def test_several_are_created_or_none_and_the_error_has_all_problems(ada: ControlClient):
    good = {"key": "good", "task": "work", "every": "1h"}
    error = ada.refused(
        "create",
        good,
        {"task": "work", "every": "0h"},
        {"key": "c", "cron": "0 25 * * *"},
        good,
    )

    assert (type(error), error.status) == (InvalidSpecification, 400)
    for problem in [
        'number 2: schedule "new": every "0h" is too short',
        'number 3: schedule "c": hour 25 is outside 0-23',
        'number 3: schedule "c": target {} is missing; give exactly one of',
        'key "good" is given twice; use another',
    ]:
        assert problem in str(error)


def test_a_key_that_is_taken_is_a_conflict(ada: ControlClient):
    ada.add("nightly", every="1h")
    new = {"task": "work", "every": "1h"}

    error = ada.refused("create", {"key": "other", **new}, {"key": "nightly", **new})

    assert (type(error), error.status) == (Conflict, 409)
    assert 'the key "nightly" is taken; use another' in str(error)


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("schedule-7", "looks like an id"),
        ("42", "looks like an id"),
        (" lead", "has blanks at its start or end"),
        ("", "is not text"),
        (7, "is not text"),
    ],
)
def test_an_invalid_key_is_refused(ada: ControlClient, key: object, problem: str):
    error = ada.refused("create", {"key": key, "task": "work", "every": "1h"})
    assert problem in str(error)


def test_the_defaults_and_queues_of_the_service_apply(service: SteppedService):
    settings = ServiceSettings(defaults={"timezone": "Asia/Tokyo"}, queues=("default", "slow"))
    ada = ControlClient(service, settings)

    created = ada.add("a", cron="0 9 * * *", queue="slow")
    error = ada.refused("create", {"task": "work", "every": "1h", "queue": "other"})

    assert to_text(created.next_slot) == "2026-11-17T00:00:00Z"
    assert 'queue "other" is not declared; use one of default, slow' in str(error)


def test_a_definition_means_the_same_with_and_without_a_key(service: SteppedService):
    ada = ControlClient(service, ServiceSettings(defaults={"catch_up_window": "1h"}))
    new = {"task": "work", "every": "1h", "catch_up_window": "none"}

    created = ada("create", {"key": "a", **new}, new)

    assert [each.specification.catch_up.window for each in created] == [None, None]
