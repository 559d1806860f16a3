"""Findings: what was looked at, how it is, and what to do about it."""

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


def judged(finding: CheckResult, *, if_bad: bool) -> CheckResult:
    return finding if if_bad else CheckResult(Level.OK, finding.what)


def of_error(error: Exception) -> CheckResult:
    what, _, remedy = str(error).rpartition("; ")
    return CheckResult(Level.FAILED, what, remedy)


def some(names: Sequence[str]) -> str:
    """Of many only the first."""
    return ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
