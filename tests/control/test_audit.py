"""Audit entries of requests."""

from __future__ import annotations

import apsw
import asyncpg
import pytest

from harness.control.client import ControlClient, audit
from harness.engine.service import SteppedService, failing
from harness.rules.values import at


def test_an_entry_has_the_person_the_time_and_the_changed_fields(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="1h", payload={"n": 1})
    service.run_until("08:30")
    ControlClient(service, by="bob")("edit", 1, {"every": "2h", "payload": {"n": 2}})
    ada("pause", 1, reason="repairs")

    created, edited, paused = audit(service)

    assert (created.by, created.verb, created.before) == ("ada", "create", None)
    assert created.after == {"key": "nightly", "version": 1}
    assert (edited.by, edited.at, edited.schedule_id) == ("bob", at("08:30"), 1)
    assert edited.before == {
        "next_slot": "2026-11-16T09:00:00Z",
        "version": 1,
        "every": "1h",
        "payload": {"n": 1},
    }
    assert edited.after == {
        "next_slot": "2026-11-16T10:30:00Z",
        "version": 2,
        "every": "2h",
        "payload": {"n": 2},
    }
    assert paused.after is not None
    assert paused.after["status_reason"] == "repairs"


def test_every_verb_has_an_entry_with_its_run(service: SteppedService, ada: ControlClient):
    ada.add(every="1h")
    service.work = failing
    ada("run", 1)
    service.run_until("08:01")
    ada("retry", "1-0")
    ada("cancel", "1-1")
    ada("pause", 1)
    ada("resume", 1)
    ada("backfill", 1, at("07:00"), at("08:00"))
    service.run_until("08:02")
    ada("delete", 1)

    entries = audit(service)

    verbs = ["create", "run", "retry", "cancel", "pause", "resume", "backfill", "delete"]
    assert [entry.verb for entry in entries] == verbs
    assert [entry.run_id for entry in entries[1:4]] == ["1-0", "1-1", "1-1"]
    assert entries[3].before == {"run": "1-1", "state": "queued"}
    assert entries[3].after == {"run": "1-1", "state": "cancelled"}
    assert (entries[7].after, (entries[7].before or {})["key"]) == (None, "nightly")
    requests = {run.id: run.request for run in service.runs()}
    assert (requests["1-0"], requests["1-1"]) == (entries[1].id, entries[2].id)


def test_an_entry_cannot_be_changed(service: SteppedService, ada: ControlClient):
    ada.add(every="1h")
    refusal = "what was written into the audit stays"
    with pytest.raises((apsw.ConstraintError, asyncpg.RaiseError), match=refusal):
        service.execute("update audit set by = 'nobody'")
