"""Checks of text and JSON from outside."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.values import at, specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import read_specification
from quarterjack.targets.kinds import KINDS

NOW = at("08:00")


def test_a_specification_contains_copies_of_its_json():
    payload, arguments = {"list": [1]}, [1, (2, 3)]
    kept = specification(every="5m", task="t", payload=payload, args=arguments)
    payload["list"].append(2)
    arguments.append(4)

    assert kept.payload == {"list": [1]}
    assert kept.target.to_json()["args"] == [1, [2, 3]]


def test_a_backslash_before_u0000_is_not_a_nul():
    payload = {"pattern": "\\u0000", "path": "C:\\\\u0000"}

    assert specification(every="5m", payload=payload).payload == payload


@pytest.mark.parametrize("field", ["payload", "kwargs", "http"])
@pytest.mark.parametrize("depth", [101, 450, 600, 990, 5000])
def test_json_nested_too_deeply_is_refused_however_deep(field: str, depth: int):
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if depth % 2 else {"a": [value]}
    fields = {"every": "5m", field: value} | ({} if field == "http" else {"task": "t"})

    with pytest.raises(InvalidSpecification, match="is nested too deeply; use at most 100"):
        read_specification(fields, kinds=KINDS, key="k", now=NOW)


def test_json_that_contains_itself_or_too_many_parts_is_refused():
    itself: dict[str, Any] = {}
    itself["again"] = itself
    doubled: list[Any] = [1]
    for _ in range(60):
        doubled = [doubled, doubled]
    for value, reason in ((itself, "is nested too deeply"), ({"doubled": doubled}, "too many")):
        with pytest.raises(InvalidSpecification, match=reason):
            specification(every="5m", payload=value)


def test_a_hundred_levels_are_accepted():
    value: Any = 1
    for _ in range(100):
        value = {"a": value}

    assert specification(every="5m", payload=value).payload == value
