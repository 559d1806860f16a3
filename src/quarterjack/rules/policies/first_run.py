"""First run: when a new schedule runs for the first time.

`slot`   (default) at its first slot after creation
`now`    at once, and then at its slots
`match`  at once if its cron expression matches the current minute; else at its first slot

A one-shot whose instant has passed always fires at once.
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
    """The cursor of a new schedule: slots up to here count as decided."""
    if once:
        slot = slots.after(EARLIEST - 1)
        return now if slot is None else min(now, slot - 1)
    if first_run is FirstRun.NOW:
        return now - 1
    newest = slots.at_or_before(now) if first_run is FirstRun.MATCH else None
    return now if newest is None or newest < now - now % MINUTE else newest - 1
