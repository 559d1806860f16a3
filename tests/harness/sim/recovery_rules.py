"""What must hold some time after all faults have ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from harness.sim.journal import RunRow
from harness.sim.oracle import SECOND
from harness.sim.violation import Violation

if TYPE_CHECKING:
    from harness.sim.checker import Checker

DECIDED_WITHIN = 90 * SECOND
"""Of the end of the faults, everything due is decided."""
OPEN_STATES = {"held", "queued", "running"}


def everything_recovers(checker: Checker) -> Iterator[Violation]:
    """C6, C11: nothing is stuck, and no node reports a problem."""
    simulation, deadline = checker.simulation, checker.ended_at - DECIDED_WITHIN
    for versions in checker.rows.runs.values():
        if (problem := _stuck(checker, versions[-1], deadline)) is not None:
            yield Violation("C11", problem, versions[-1].schedule_id, versions[-1].id)
    overdue = simulation.database.query(
        "select id, wake_at from schedules where wake_at < $1 and deleted_at is null", deadline
    )
    for schedule_id, wake_at in overdue:
        yield Violation("C11", f"was due at {wake_at} and not planned", schedule_id)
    invalid = simulation.database.query(
        "select id, status_reason from schedules where status = 'invalid'"
    )
    for schedule_id, reason in invalid:
        yield Violation("C11", f"is invalid: {reason}", schedule_id)
    for host in simulation.hosts:
        if host.node is not None and host.is_up and host.node.problems():
            yield Violation("C11", f"{host.name} has problems: {host.node.problems()}")
    ((unsent,),) = simulation.database.query("select count(*) from outbox where sent_at is null")
    if unsent:
        yield Violation("C11", f"{unsent} notifications are not sent")


def _stuck(checker: Checker, last: RunRow, deadline: int) -> str | None:
    if last.state == "running" and (last.lease_until or 0) < deadline:
        return f"is running, and its lease ended at {last.lease_until}"
    if last.state == "queued" and last.ready_at < deadline:
        return "is ready and not claimed"
    if last.state == "held" and not _may_be_held(checker, last, deadline):
        return "is held and not released"
    return None


def _may_be_held(checker: Checker, held: RunRow, deadline: int) -> bool:
    """Until it is ready, behind another run of its scope, or by a gate that is not closed."""
    if held.ready_at >= deadline:
        return True
    gate = checker.rows.gates.get(held.gate or "")
    if gate and gate[-1].state != "closed":
        return True
    return any(
        versions[-1].state in OPEN_STATES and versions[-1].id != held.id
        and versions[-1].scope == held.scope
        and (versions[-1].state != "held" or versions[-1].slot <= held.slot)
        for versions in checker.rows.runs.values()
    )  # fmt: skip
