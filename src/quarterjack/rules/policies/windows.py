"""Windows: what happens to slots outside `only_between`, or on a day of `not_on`.

`drop`      (default) the slot is skipped, with the constraint as its reason
`defer`     the run becomes ready when the window opens
`next_day`  the run becomes ready at the same wall time on the next admitted day; outside the hours
            of `only_between`, where no day admits that time, the slot is skipped
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from quarterjack.rules.reasons import Reason
from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Slots, Window, jitter_of

if TYPE_CHECKING:
    from quarterjack.rules.definition.specification import Specification

SPANS_MAX = 500
"""How many spans without a run one plan examines: most of a year of nights, mornings and weekends.
Slots before them are recorded in one row."""

_REASONS = {"only_between": Reason.ONLY_BETWEEN, "not_on": Reason.NOT_ON}


class OnConstraint(TextEnum):
    DROP = "drop"
    DEFER = "defer"
    NEXT_DAY = "next_day"


def spans(
    slots: Slots, window: Window | None, low: int, high: int, wanted: int
) -> Iterator[tuple[int, int, Reason | None]]:
    """Groups the slots in [low, high], newest first, into spans (first, last, reason) in which the
    window admits all slots or excludes all for one reason; enough spans to find the wanted number
    of slots in most windows."""
    last = slots.at_or_before(high)
    for _ in range(SPANS_MAX + 3 * wanted):
        if last is None or last < low:
            return
        since = low if window is None else max(low, window.since(last))
        first = slots.after(since - 1)
        assert first is not None
        yield first, last, None if window is None else window_reason(window, last)
        last = slots.at_or_before(first - 1)


def window_reason(window: Window, slot: int) -> Reason | None:
    """Why the window excludes this slot; None if it admits it."""
    refusal = window.refusal(slot)
    return None if refusal is None else _REASONS[refusal]


def dropping_window(window: Window | None, on_constraint: OnConstraint) -> Window | None:
    """The part of the window that drops the slots which it does not admit."""
    if window is None or on_constraint is OnConstraint.DROP:
        return window
    by_hours = on_constraint is OnConstraint.NEXT_DAY and window.only_between is not None
    return Window(window.only_between, (), window.timezone) if by_hours else None


def ready_at(specification: Specification, key: str, slot: int) -> int:
    """When the run of a slot becomes ready: moved by the window, then by jitter."""
    ready = slot
    if specification.window is not None:
        ready = ready_from(slot, specification.window, specification.on_constraint)
    if specification.jitter:
        ready += jitter_of(key, slot, specification.jitter)
    return ready


def ready_from(slot: int, window: Window, on_constraint: OnConstraint) -> int:
    """When a run for this slot may start. A window that never opens again is ignored."""
    if on_constraint is OnConstraint.DROP:
        return slot
    opens = window.by_day(slot) if on_constraint is OnConstraint.NEXT_DAY else window.opens(slot)
    return slot if opens is None else opens
