"""A preset that the service has: a schedule is read with it, but it is not the schedule's own."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.world import at
from quarterjack.rules import Limits, ServiceSettings, Specification, read_specification

NOW = at("08:00")


def stored(specification: Specification) -> Specification:
    """As it is read back: what the store keeps beside the body is the preset of the service."""
    body, preset = specification.to_json(), specification.service_preset
    again = read_specification(body, key="k", now=None, preset=preset)
    assert again == specification
    return again


def created(service: ServiceSettings, **fields: Any) -> Specification:
    return stored(service.specification({"every": "1h", **fields}, "k", NOW))


def edited(service: ServiceSettings, specification: Specification, **changes: Any) -> Specification:
    return stored(service.patched(specification, changes, "k", NOW))


@pytest.mark.mission("D10", "P6")
@pytest.mark.parametrize("preset", [None, "pipelit", "horsies", "posix", "agent"])
class TestAnEditThatSaysNull:
    def test_goes_back_to_what_creation_gave(self, preset: str | None):
        service = ServiceSettings(preset=preset, limits=Limits(max_consecutive_errors=3))
        first = created(service, task="t", timezone="UTC")
        other = {"max_consecutive_errors": 7, "timeout": "9s", "if_running": "queue"}
        changed = edited(service, first, **other)
        assert changed != first

        assert edited(service, changed, **dict.fromkeys(other)) == first

    def test_goes_back_to_the_preset_of_its_own_whatever_the_service_has(self, preset: str | None):
        service = ServiceSettings(preset=preset)
        first = created(service, task="t", preset="horsies")

        again = edited(service, edited(service, first, timeout="9s"), timeout=None)

        assert (again.preset, again.timeout) == ("horsies", None)


@pytest.mark.mission("D10")
class TestAnEditThatCallsSomethingElse:
    def test_takes_the_preset_of_the_new_kind_instead_of_the_services(self):
        service = ServiceSettings(preset="horsies")
        task = created(service, task="t")
        assert task.preset == "horsies"

        prompt = edited(service, task, prompt="hello")
        again = edited(service, prompt, task="t", prompt=None)

        assert (prompt.preset, prompt.is_agent) == ("agent", True)
        assert (again.preset, again.is_agent) == ("horsies", False)

    def test_keeps_a_preset_of_its_own(self):
        service = ServiceSettings(preset="horsies")

        prompt = edited(service, created(service, task="t", preset="posix"), prompt="hello")

        assert prompt.preset == "posix"

    def test_keeps_a_preset_of_its_own_though_the_old_kind_brought_the_same(self):
        service = ServiceSettings(preset="horsies")

        task = edited(service, created(service, prompt="hello", preset="agent"), task="t")

        assert task.is_agent


@pytest.mark.mission("D10")
def test_an_edit_chooses_the_preset_that_the_service_has_by_then_and_changes_nothing_else():
    before = created(ServiceSettings(preset="horsies"), task="t")

    after = edited(ServiceSettings(preset="agent"), before, name="renamed")

    assert (before.preset, after.preset) == ("horsies", "agent")
    assert after.to_json() == before.to_json() | {"name": "renamed"}


@pytest.mark.mission("D10")
def test_a_body_that_was_stored_before_it_said_whose_preset_it_was_is_read_as_before():
    service = ServiceSettings(preset="horsies")
    body = created(service, task="t").to_json()
    assert "preset" not in body, "a node of an older program refuses a field that it does not know"

    assert read_specification(body, key="k", now=None).preset is None
    assert read_specification(body | {"preset": "horsies"}, key="k", now=None).preset == "horsies"
