"""Settings of the service: presets in edits, and the stored text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.rules.values import at
from quarterjack.errors import StoreUnusable
from quarterjack.rules import Limits, ServiceSettings, Specification, read_specification
from quarterjack.targets.kinds import KINDS

NOW = at("08:00")


def stored(specification: Specification) -> Specification:
    """As it is read back: what the store keeps beside the body is the preset of the service."""
    body, preset = specification.to_json(), specification.service_preset
    again = read_specification(body, kinds=KINDS, key="k", now=None, preset=preset)
    assert again == specification
    return again


def created(service: ServiceSettings, **fields: Any) -> Specification:
    return stored(service.specification({"every": "1h", **fields}, KINDS, "k", NOW))


def edited(service: ServiceSettings, specification: Specification, **changes: Any) -> Specification:
    return stored(service.patched(specification, changes, KINDS, "k", NOW))


@pytest.mark.mission("D10")
def test_an_edit_uses_the_current_preset_of_the_service_and_changes_nothing_else():
    before = created(ServiceSettings(preset="horsies"), task="t")

    after = edited(ServiceSettings(preset="agent"), before, name="renamed")

    assert (before.preset, after.preset) == ("horsies", "agent")
    assert after.to_json() == before.to_json() | {"name": "renamed"}


@pytest.mark.mission("D10")
def test_a_definition_stored_without_a_preset_reads_as_before():
    service = ServiceSettings(preset="horsies")
    body = created(service, task="t").to_json()
    assert "preset" not in body, "a node of an older program refuses a field that it does not know"

    assert read_specification(body, kinds=KINDS, key="k", now=None).preset is None
    assert (
        read_specification(body | {"preset": "horsies"}, kinds=KINDS, key="k", now=None).preset
        == "horsies"
    )


@pytest.mark.mission("D10", "P6")
@pytest.mark.parametrize("preset", [None, "pipelit", "horsies", "posix", "agent"])
class TestEditToNull:
    def test_returns_to_the_value_at_creation(self, preset: str | None):
        service = ServiceSettings(preset=preset, limits=Limits(max_consecutive_errors=3))
        first = created(service, task="t", timezone="UTC")
        other = {"max_consecutive_errors": 7, "timeout": "9s", "if_running": "queue"}
        changed = edited(service, first, **other)
        assert changed != first

        assert edited(service, changed, **dict.fromkeys(other)) == first

    def test_returns_to_the_schedules_own_preset_whatever_the_service_has(self, preset: str | None):
        service = ServiceSettings(preset=preset)
        first = created(service, task="t", preset="horsies")

        again = edited(service, edited(service, first, timeout="9s"), timeout=None)

        assert (again.preset, again.timeout) == ("horsies", None)


@pytest.mark.mission("D10")
class TestEditToAnotherTarget:
    def test_uses_the_preset_of_the_new_kind_instead_of_the_services(self):
        service = ServiceSettings(preset="horsies")
        task = created(service, task="t")
        assert task.preset == "horsies"

        prompt = edited(service, task, prompt="hello")
        again = edited(service, prompt, task="t", prompt=None)

        assert (prompt.preset, prompt.is_agent) == ("agent", True)
        assert (again.preset, again.is_agent) == ("horsies", False)

    def test_keeps_the_schedules_own_preset(self):
        service = ServiceSettings(preset="horsies")

        prompt = edited(service, created(service, task="t", preset="posix"), prompt="hello")

        assert prompt.preset == "posix"

    def test_keeps_the_schedules_own_preset_even_if_the_old_kind_had_the_same(self):
        service = ServiceSettings(preset="horsies")

        task = edited(service, created(service, prompt="hello", preset="agent"), task="t")

        assert task.is_agent


def test_fields_that_another_version_of_the_program_has_stored_are_ignored():
    body = json.loads(ServiceSettings(limits=Limits(max_catchup_runs=3)).to_text())
    newer = json.dumps(body | {"colour": "red", "limits": body["limits"] | {"more": 1}})

    assert ServiceSettings.from_text(newer).limits == Limits(max_catchup_runs=3)
    assert ServiceSettings.from_text(None) == ServiceSettings()


@pytest.mark.parametrize("text", ["{", '{"limits": 3}', "3"])
def test_a_stored_text_that_cannot_be_read_is_refused_with_advice(text: str):
    with pytest.raises(StoreUnusable, match="start `quarterjack up` once"):
        ServiceSettings.from_text(text)
