"""Merges neighbouring slots that did not run for the same reason into one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quarterjack.rules.model import SlotsNotRun


def merged(
    rows: Iterable[SlotsNotRun], ran: Sequence[int], earlier: SlotsNotRun | None
) -> tuple[list[SlotsNotRun], SlotsNotRun | None]:
    """The rows in order, merged where no slot ran between them, and the row that the next slot may
    extend. `earlier` is the stored row that the first of these may extend."""
    joined: list[SlotsNotRun] = []
    open_row = earlier
    for row in sorted(rows):
        if open_row is not None and _can_merge(open_row, row, ran):
            open_row = row._replace(first=open_row.first, count=open_row.count + row.count)
            joined[-1:] = [open_row]
        else:
            open_row = row
            joined.append(row)
    if open_row is not None and ran and ran[-1] > open_row.last:
        open_row = None
    return joined, open_row


def _can_merge(before: SlotsNotRun, after: SlotsNotRun, ran: Sequence[int]) -> bool:
    ran_between = any(before.last < slot < after.first for slot in ran)
    return before.reason is after.reason and not ran_between
