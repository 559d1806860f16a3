"""Instants and specifications for tests, in short notation."""

from __future__ import annotations

from typing import Any

import pytest

from quarterjack.errors import InvalidSpecification
from quarterjack.rules import read_specification
from quarterjack.rules.definition.fields import READERS
from quarterjack.rules.definition.validation import WHEN
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import HOUR, MINUTE, read_instant

DAY_ONE = "2026-11-16"


def at(text: str) -> int:
    """`09:00` or `09:00:30` on the day of the tests, or a whole instant with its date."""
    if "T" not in text:
        text = f"{DAY_ONE}T{text if text.count(':') == 2 else text + ':00'}Z"
    return read_instant(text, "test")


def minutes(count: int) -> int:
    return count * MINUTE


def hours(count: int) -> int:
    return count * HOUR


def specification(key: str = "nightly", now: int = at("08:00"), **fields: Any) -> Any:
    """A specification of a task, unless the fields name another target."""
    named = {"task", "plugin", "command", "http", "prompt", "workflow_id", "rq", "celery", "target"}
    target = {} if named & fields.keys() else {"task": "work"}
    return read_specification(target | fields, kinds=KINDS, key=key, now=now)


def problems(**fields: Any) -> list[str]:
    """The text of each problem of a definition."""
    with pytest.raises(InvalidSpecification) as caught:
        specification(**fields)
    return [str(problem) for problem in caught.value.problems]


FIELDS = frozenset(READERS) | WHEN | KINDS.fields | {"preset"}
"""Every field that a schedule may have."""
