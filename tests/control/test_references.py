"""Schedules and runs that a request names."""

from __future__ import annotations

import pytest

from harness.control.client import ControlClient
from quarterjack.errors import Conflict, NotFound


@pytest.mark.parametrize("verb", ["pause", "resume", "run", "delete"])
def test_a_schedule_that_does_not_exist_is_not_found(ada: ControlClient, verb: str):
    error = ada.refused(verb, "missing")
    assert (type(error), error.status) == (NotFound, 404)
    assert str(error) == 'there is no schedule "missing"; `quarterjack list` shows all'


def test_an_edit_of_a_schedule_that_does_not_exist_is_not_found(ada: ControlClient):
    assert type(ada.refused("edit", 7, {"every": "1h"})) is NotFound


@pytest.mark.parametrize("verb", ["cancel", "retry"])
@pytest.mark.parametrize("run", ["7-7", "nonsense", "7"])
def test_a_run_that_does_not_exist_is_not_found(ada: ControlClient, verb: str, run: str):
    assert type(ada.refused(verb, run)) is NotFound


def test_a_name_of_several_schedules_is_ambiguous(ada: ControlClient):
    for key in ("a", "b"):
        ada.add(key, every="1h", name="Report")

    error = ada.refused("run", "Report")

    assert (type(error), error.status) == (Conflict, 409)
    message = 'several schedules (1, 2) have the name "Report"; use an id or a key'
    assert str(error) == message
