"""Targets: their notations and checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from harness.rules.values import problems, specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import read_specification
from quarterjack.rules.definition.target import LABEL, TEXT, Target, TargetKind, TargetKinds


@pytest.mark.parametrize(
    ("fields", "kind", "expected"),
    [
        ({"task": "t", "args": [1]}, "task", {"task": "t", "args": [1], "kwargs": {}}),
        ({"command": ["ls", "-l"]}, "command", {"command": ["ls", "-l"]}),
        ({"plugin": "echo"}, "plugin", {"plugin": "echo", "command": "poll"}),
        (
            {"plugin": "echo", "command": "sync"},
            "plugin",
            {"plugin": "echo", "command": "sync"},
        ),
        ({"http": {"url": "https://x"}}, "http", {"http": {"url": "https://x"}}),
        ({"prompt": "hi"}, "prompt", {"prompt": "hi", "model": None, "opts": {}}),
        ({"workflow_id": 3}, "workflow", {"workflow_id": 3, "trigger_node_id": None}),
        ({"rq": {"function": "f"}}, "rq", {"rq": {"function": "f"}}),
        ({"celery": {"task": "f"}}, "celery", {"celery": {"task": "f"}}),
        (
            {"target": {"kind": "http", "url": "https://x"}},
            "http",
            {"http": {"url": "https://x"}},
        ),
        (
            {"target": {"kind": "prompt", "prompt": "hi", "model": "m"}},
            "prompt",
            {"prompt": "hi", "model": "m", "opts": {}},
        ),
        (
            {"target": {"kind": "workflow", "workflow_id": 3}},
            "workflow",
            {"workflow_id": 3, "trigger_node_id": None},
        ),
    ],
)
def test_each_kind_in_each_notation(fields: dict[str, Any], kind: str, expected: dict[str, Any]):
    target = specification(every="5m", **fields).target

    assert (target.kind, target.to_json()) == (kind, expected)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"task": None}, "target {} is missing; give exactly one of task, plugin"),
        ({"task": "t", "prompt": "p"}, "has task and prompt; give exactly one of"),
        ({"task": 7}, "task 7 is not text; write it as in task: cleanup"),
        ({"task": ""}, 'task "" is not text; give text, or leave it out'),
        ({"command": "ls"}, 'command "ls" is not a list; write it as in command: ['),
        ({"command": ["ls", 7]}, "is not a list of text"),
        ({"command": []}, "command [] is empty"),
        ({"workflow_id": True}, "workflow_id True is not a number"),
        ({"task": "t", "args": 3}, "args 3 is not a list; give a list"),
        ({"task": "t", "model": "m"}, "does not go with task; write it as in task: cleanup"),
        ({"plugin": "p", "command": ["x"]}, "command ['x'] is not text; give text"),
        ({"target": "http"}, 'target "http" is of an unknown kind; write {kind: ...} with one'),
        ({"target": {"kind": "ftp"}}, "is of an unknown kind"),
        ({"target": {"kind": ["http"]}}, "is of an unknown kind"),
        ({"target": {"kind": "task", "task": "t"}, "task": "t"}, "stands beside another"),
        ({"target": {"kind": "task", "task": "t", 1: 2}}, "1 {1: 2} does not go with task"),
        ({"workflow_id": 0}, "workflow_id 0 is outside 1-"),
        ({"workflow_id": 10**30}, "is outside 1-9223372036854775807"),
        ({"plugin": "a/b"}, 'plugin "a/b" contains a slash; use a name without one'),
        ({"plugin": "a", "command": ""}, 'command "" is not text'),
        ({"task": "a\nb"}, "is not a label"),
    ],
)
def test_an_invalid_target_is_refused(fields: dict[str, Any], problem: str):
    (found,) = problems(every="5m", **fields)

    assert problem in found


def test_arguments_may_be_a_tuple():
    kept = specification(every="5m", task="t", args=(1, 2), kwargs={})

    assert kept.target.to_json() == {"task": "t", "args": [1, 2], "kwargs": {}}


def test_a_prompt_may_have_many_lines():
    assert specification(every="5m", prompt="one\n\ttwo").target.kind == "prompt"


def test_a_list_or_mapping_that_is_left_out_is_not_shared_between_targets():
    first, second = (specification(every="5m", task="t").target for _ in range(2))

    assert first.fields["args"] == second.fields["args"] == []
    assert first.fields["args"] is not second.fields["args"]
    assert first.fields["kwargs"] is not second.fields["kwargs"]


def scope_of_pigeon(fields: Mapping[str, Any]) -> str | None:
    return None if fields["pigeon"] == "solo" else f"loft of {fields['pigeon']}"


PIGEON = TargetKind(
    "pigeon",
    "pigeon: martha",
    {"pigeon": LABEL, "message": TEXT},
    preset="agent",
    payload_max=10,
    scope=scope_of_pigeon,
    is_poll=lambda fields: fields["message"] is None,
)


class TestAnotherKind:
    """A kind is one entry of the table, and no rule names it."""

    def test_a_schedule_may_name_it(self):
        fields = {"every": "5m", "pigeon": "martha", "message": "coo"}

        read = read_specification(fields, kinds=TargetKinds([PIGEON]), key="k", now=0)

        assert read.target == Target(
            "pigeon",
            {"pigeon": "martha", "message": "coo"},
            scope="loft of martha",
            preset="agent",
            payload_max=10,
        )
        assert (read.preset, read.scope(1)) == ("agent", "loft of martha")

    def test_its_fields_are_unknown_to_other_tables(self):
        kinds = TargetKinds([PIGEON])

        assert kinds.naming_fields == ("pigeon",)
        assert kinds.fields == {"target", "pigeon", "message"}
        assert 'pigeon "martha" is an unknown field' in problems(every="5m", pigeon="martha")[0]
        with pytest.raises(InvalidSpecification, match="give exactly one of pigeon"):
            kinds.read({"task": "t"})

    def test_its_limits_and_polls_are_checked(self):
        kinds = TargetKinds([PIGEON])
        fields = {"every": "5m", "pigeon": "solo", "message": "coo", "max_outstanding_polls": 1}

        with pytest.raises(InvalidSpecification) as error:
            read_specification(fields | {"payload": {"n": 10**10}}, kinds=kinds, key="k", now=0)

        assert [problem.field for problem in error.value.problems] == [
            "max_outstanding_polls",
            "payload",
        ]
