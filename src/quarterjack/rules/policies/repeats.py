"""Repeats: after `total_repeats` successful runs the schedule is done. 0 is unlimited.

A slot is not planned if the open runs may use up the repeats, so that there are never more
successes than `total_repeats`. If one of these runs fails, a later slot takes its place.
"""

from __future__ import annotations

from collections.abc import Iterable

from quarterjack.rules.model import Kind, Run, Schedule


def repeats_left(schedule: Schedule, open_runs: Iterable[Run]) -> int | None:
    """How many more runs may be planned; None is unlimited."""
    total = schedule.specification.total_repeats
    if not total:
        return None
    pending = sum(run.kind is Kind.SLOT and run.schedule_id == schedule.id for run in open_runs)
    return max(total - schedule.current_repeat - pending, 0)


def repeats_used_up(schedule: Schedule) -> bool:
    total = schedule.specification.total_repeats
    return total > 0 and schedule.current_repeat >= total
