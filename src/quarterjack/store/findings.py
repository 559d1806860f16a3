"""Findings: what was looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from quarterjack.rules.words import Word

SHOWN = 5


class Level(Word):
    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class Finding(NamedTuple):
    level: Level
    what: str
    remedy: str = ""


def judged(finding: Finding, *, if_bad: bool) -> Finding:
    return finding if if_bad else Finding(Level.OK, finding.what)


def of_error(error: Exception) -> Finding:
    what, _, remedy = str(error).rpartition("; ")
    return Finding(Level.FAILED, what, remedy)


def some(names: Sequence[str]) -> str:
    """Of many only the first."""
    return ", ".join(names[:SHOWN]) + (" and others" if len(names) > SHOWN else "")
