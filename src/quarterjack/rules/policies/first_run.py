"""First run: when does a new schedule run for the first time?

`slot`   (default) at its first slot after creation
`now`    at once, and then at its slots
`match`  at once only if the current minute is one that its cron names

A one-shot whose instant has passed fires at once, whatever is said here.
"""

from __future__ import annotations

from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Slots
from quarterjack.times.instants import EARLIEST, MINUTE


class FirstRun(TextEnum):
    SLOT = "slot"
    NOW = "now"
    MATCH = "match"


def first_cursor(first_run: FirstRun, slots: Slots, now: int, *, once: bool) -> int:
    """Up to where a new schedule's slots count as decided."""
    if once:
        slot = slots.after(EARLIEST - 1)
        return now if slot is None else min(now, slot - 1)
    if first_run is FirstRun.NOW:
        return now - 1
    newest = slots.at_or_before(now)
    matches = newest is not None and newest >= now - now % MINUTE
    if first_run is FirstRun.MATCH and newest is not None and matches:
        return newest - 1
    return now
