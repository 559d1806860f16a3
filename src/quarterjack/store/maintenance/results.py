"""The result of one check of `doctor`: how severe it is, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quarterjack.rules.text_enum import TextEnum

SHOWN = 5


class Level(TextEnum):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class CheckResult(NamedTuple):
    level: Level
    what: str
    remedy: str = ""


def ok(what: str) -> CheckResult:
    return CheckResult(Level.OK, what)


def warn(what: str, remedy: str, *, unless: bool = False) -> CheckResult:
    return ok(what) if unless else CheckResult(Level.WARNING, what, remedy)


def fail(what: str, remedy: str, *, unless: bool = False) -> CheckResult:
    return ok(what) if unless else CheckResult(Level.FAILED, what, remedy)


def some(names: Sequence[str]) -> str:
    """The first ones, if they are many."""
    return ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
