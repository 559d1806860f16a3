"""A broken rule."""

from __future__ import annotations

from typing import NamedTuple

from harness.sim.oracle import SECOND

AFTERMATH = 75 * SECOND
"""How long after a fault its effects may last without being a violation: longer than the poll
interval."""


class Violation(NamedTuple):
    rule: str
    """A code of the catalogue of faults, or a word."""
    what: str
    schedule_id: int | None = None
    run_id: str | None = None
    at: int | None = None
    """In simulated time."""
