"""Editing schedules."""

from __future__ import annotations

from typing import Any

import pytest

from harness.control.client import ControlClient, audit, view
from harness.engine.service import SteppedService
from harness.rules.values import at
from quarterjack.errors import Conflict, WrongState
from quarterjack.rules import Limits, ServiceSettings, Status
from quarterjack.times.instants import MINUTE


def test_only_the_given_fields_change_and_a_running_attempt_keeps_its_version(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="1h", max_retries=2, payload={"n": 1})
    service.work = lambda call: service.sleep(30 * MINUTE)
    service.run_until("09:00")

    edited = ada("edit", "nightly", {"payload": {"n": 2}, "timeout_seconds": 30})

    assert (edited.version, edited.specification.retry.retries_max) == (2, 2)
    assert view(edited)["timeout_seconds"] == 30
    assert edited.next_slot == at("10:00"), "the slots stay as they are"
    service.run_until("10:40")
    assert [run.version for run in service.runs()] == [1, 2]
    assert [call.payload for _, call in service.calls] == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize(
    ("before", "changes", "kind"),
    [
        ({"cron": "0 3 * * *", "dst_gap": "skip"}, {"every": "2h"}, "every"),
        ({"every": "1h", "anchor": "completion"}, {"cron": "0 3 * * *"}, "cron"),
        ({"cron": "0 8 * * *", "first_run": "match"}, {"at": "2026-11-17T00:00:00Z"}, "at"),
        ({"at": "2026-11-17T00:00:00Z"}, {"after": "5m"}, "after"),
        ({"every": "1h"}, {"interval_seconds": 60}, "every"),
    ],
)
def test_another_recurrence_replaces_the_first(
    ada: ControlClient, before: dict[str, Any], changes: dict[str, Any], kind: str
):
    ada.add(**before)
    edited = ada("edit", 1, changes)
    assert view(edited)["schedule_type"] == kind


def test_another_target_replaces_the_first(ada: ControlClient):
    ada("create", {"key": "p", "plugin": "echo", "every": "1h"})

    assert ada("edit", "p", {"command": "sync"}).specification.target.fields == {
        "plugin": "echo",
        "command": "sync",
    }
    edited = ada("edit", "p", {"prompt": "hello", "model": "small"})
    assert view(edited)["target"]["kind"] == "prompt"
    assert ada("edit", "p", {"prompt": "hi"}).specification.target.fields["model"] == "small"
    edited = ada("edit", "p", {"model": None, "prompt": "hello"})
    assert edited.specification.target.fields == {"prompt": "hello", "model": None, "opts": {}}


def test_null_returns_a_field_to_its_default(ada: ControlClient):
    ada.add(every="1h", max_retries=3, description="x")
    edited = ada("edit", 1, {"max_retries": None, "description": None})
    assert (edited.specification.retry.retries_max, edited.specification.description) == (0, None)


def test_other_fields_keep_their_values_even_if_the_defaults_have_changed(service: SteppedService):
    ControlClient(service).add(every="1h", max_retries=2)
    defaults = {"only_between": "08:00-18:00", "description": "default", "max_retries": 7}
    settings = ServiceSettings(defaults=defaults, limits=Limits(max_consecutive_errors=4))
    ada = ControlClient(service, settings)

    edited = ada("edit", 1, {"priority": 3})
    assert audit(service)[-1].after == {"version": 2, "priority": 3}
    assert edited.specification.window is None
    edited = ada("edit", 1, {"max_retries": None, "max_consecutive_errors": None})
    assert edited.specification.retry.retries_max == 7, "null returns it to the default"
    assert edited.specification.max_consecutive_errors == 4


def test_a_resumed_schedule_that_was_created_disabled_stays_active(ada: ControlClient):
    ada.add(every="1h", enabled=False)
    ada("resume", 1)

    assert ada("edit", 1, {"name": "x"}).status is Status.ACTIVE
    assert ada("edit", 1, {"enabled": True}).status is Status.ACTIVE
    assert ada("edit", 1, {"enabled": False}).status is Status.PAUSED


def test_another_recurrence_ends_a_backfill(ada: ControlClient):
    ada.add(cron="0 * * * *")
    ada("backfill", 1, at("01:00"), at("05:00"))

    assert ada("edit", 1, {"name": "x"}).backfill is not None
    assert ada("edit", 1, {"cron": "5 * * * *"}).backfill is None


def test_an_edit_of_another_version_is_a_conflict(ada: ControlClient):
    ada.add(every="1h")
    ada("edit", 1, {"every": "2h"}, version=1)

    error = ada.refused("edit", 1, {"every": "3h"}, version=1)

    assert (type(error), error.status) == (Conflict, 409)
    assert "is at version 2, not 1; read it again, then repeat the change" in str(error)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"every": "0h"}, "too short"),
        ({"preset": "agent"}, "cannot be changed: it was expanded into fields"),
        ({"nonsense": 1}, "is an unknown field"),
        ({"delete_after_run": True}, "does not go with every hour"),
    ],
)
def test_an_invalid_change_is_refused(ada: ControlClient, changes: dict[str, Any], problem: str):
    ada.add(every="1h")

    error = ada.refused("edit", 1, changes)

    assert (error.status, problem in str(error)) == (400, True), error


def test_a_new_instant_reactivates_a_one_shot_that_is_done(
    service: SteppedService, ada: ControlClient
):
    ada.add(at="2026-11-16T08:30:00Z")
    service.run_until("09:00")
    assert service.schedule().status is Status.DONE

    ada("edit", 1, {"at": "2026-11-16T10:00:00Z"})
    service.run_until("10:01")

    assert service.slots() == [at("08:30"), at("10:00")]


@pytest.mark.parametrize("body", ["{", "{}", '{"every": "1h"}'])
def test_an_unreadable_definition_is_replaced_as_a_whole_or_deleted(
    service: SteppedService, ada: ControlClient, body: str
):
    for key in ("a", "b"):
        ada.add(key, every="1h")
    service.execute(f"update specifications set body = '{body}'")
    service.store._specifications._cached.clear()
    for verb, values in [("pause", ()), ("run", ()), ("backfill", (at("01:00"), at("02:00")))]:
        error = ada.refused(verb, "a", *values)
        assert (type(error), "edit or delete it" in str(error)) == (WrongState, True)

    edited = ada("edit", "a", {"task": "work", "every": "2h"})
    ada("delete", "b")
    service.run_until("10:01")

    assert (edited.status, service.slots(1)) == (Status.ACTIVE, [at("10:00")])
