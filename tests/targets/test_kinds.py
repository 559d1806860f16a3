"""The table of all kinds of targets."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

import quarterjack.targets
from quarterjack.rules.definition.target import TargetKind
from quarterjack.targets.kinds import KINDS, make_targets
from quarterjack.targets.registrations import Registry

ALL = list(KINDS._by_kind.values())


def test_every_kind_is_listed_and_named_by_its_own_field():
    assert {each.kind: each.named_by for each in ALL} == {
        "task": "task",
        "plugin": "plugin",
        "command": "command",
        "http": "http",
        "prompt": "prompt",
        "workflow": "workflow_id",
        "rq": "rq",
        "celery": "celery",
    }


def test_every_module_of_a_kind_is_listed():
    folder = Path(quarterjack.targets.__file__).parent
    modules = {file.stem for file in folder.glob("*.py") if "\nKIND = " in file.read_text()}

    assert modules == {each.kind for each in ALL}


@pytest.mark.parametrize("kind", ALL, ids=lambda each: each.kind)
def test_the_example_of_a_kind_is_valid(kind: TargetKind):
    """Errors say to write it like this."""
    example = YAML(typ="safe", pure=True).load(kind.example)

    target = KINDS.read(example)

    assert target.kind == kind.kind
    assert target.to_json().items() >= example.items()


@pytest.mark.parametrize("kind", ALL, ids=lambda each: each.kind)
def test_a_target_is_read_back_from_its_stored_form(kind: TargetKind):
    target = KINDS.read(YAML(typ="safe", pure=True).load(kind.example))

    assert KINDS.read(target.to_json()) == target


def test_the_kinds_that_bring_a_preset():
    assert {each.kind: each.preset for each in ALL if each.preset} == {
        "plugin": "ductile",
        "prompt": "agent",
        "workflow": "pipelit",
    }


def test_only_plugins_share_a_scope_and_only_their_command_poll_is_a_poll():
    found = {each.kind: KINDS.read(YAML(typ="safe").load(each.example)) for each in ALL}
    sync = KINDS.read({"plugin": "echo", "command": "sync"})

    assert {kind: each.scope for kind, each in found.items() if each.scope} == {
        "plugin": "echo/poll"
    }
    assert [kind for kind, each in found.items() if each.is_poll] == ["plugin"]
    assert (sync.scope, sync.is_poll) == ("echo/sync", False)


def test_a_process_runs_only_listed_kinds():
    assert make_targets(Registry(), 1).keys() == {"task", "command"} <= {each.kind for each in ALL}
