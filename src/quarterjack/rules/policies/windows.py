"""Windows: slots outside the hours, or on the wrong day, are dropped or deferred.

`drop`   (default) the slot is passed over, with the constraint as its reason
`defer`  the run becomes ready when the window opens
"""

from __future__ import annotations

from collections.abc import Iterator

from quarterjack.rules.reasons import Reason
from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Slots, Window

STRETCHES_MAX = 500
"""As many stretches that run nothing are looked at in one plan: most of a year of nights, mornings
and weekends."""


_REFUSALS = {"only_between": Reason.ONLY_BETWEEN, "not_on": Reason.NOT_ON}


class OnConstraint(TextEnum):
    DROP = "drop"
    DEFER = "defer"


def stretches(
    slots: Slots, window: Window | None, low: int, high: int, wanted: int
) -> Iterator[tuple[int, int, Reason | None]]:
    """The slots in [low, high], newest first, in stretches (first, last, refused why) over which
    the window's answer is the same; enough of them to find so many wanted slots in most windows."""
    last = slots.at_or_before(high)
    for _ in range(STRETCHES_MAX + 3 * wanted):
        if last is None or last < low:
            return
        since = low if window is None else max(low, window.since(last))
        first = slots.after(since - 1)
        assert first is not None
        yield first, last, None if window is None else refused_for(window, last)
        last = slots.at_or_before(first - 1)


def refused_for(window: Window, slot: int) -> Reason | None:
    """Why this slot may not run."""
    refusal = window.refusal(slot)
    return None if refusal is None else _REFUSALS[refusal]


def ready_from(slot: int, window: Window, on_constraint: OnConstraint) -> int:
    """When a run for this slot may start. A window that never opens again is as good as none."""
    if on_constraint is OnConstraint.DROP:
        return slot
    opens = window.opens(slot)
    return slot if opens is None else opens
