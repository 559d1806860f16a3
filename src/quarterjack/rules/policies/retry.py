"""Retry: a failed or timed-out attempt is followed by up to `max_retries` others.

The delay starts when the attempt ends: `fixed`, or `exponential`, which is delay x 2^(n-1) and at
most 10 x delay. A new slot may supersede a waiting retry (`slot_preempts_retry`). When the retries
are used up the schedule continues with its next slot (`continue`), ends as `dead`, or is paused
(`pause`).
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Every, Recurrence
from quarterjack.times.instants import SECOND

DELAY_FACTOR_MAX = 10
_DOUBLINGS_MAX = 4
"""2^4 is more than the largest factor."""


class Backoff(TextEnum):
    EXPONENTIAL = "exponential"
    FIXED = "fixed"


class OnExhausted(TextEnum):
    CONTINUE = "continue"
    DEAD = "dead"
    PAUSE = "pause"


class Retry(NamedTuple):
    retries_max: int | None
    """None is unlimited."""
    delay: int
    backoff: Backoff
    preempted_by_slot: bool
    on_exhausted: OnExhausted
    is_delay_given: bool = True
    """If not, `delay` is the interval, and changes with it when the schedule is edited."""

    def allows(self, failures: int) -> bool:
        """Whether another attempt follows after so many failures."""
        return self.retries_max is None or failures <= self.retries_max

    def delay_after(self, failures: int) -> int:
        if self.backoff is Backoff.FIXED:
            return self.delay
        return min(self.delay << min(failures - 1, _DOUBLINGS_MAX), DELAY_FACTOR_MAX * self.delay)


def default_delay(recurrence: Recurrence) -> int:
    """The interval of an `every`, else 30 seconds."""
    return recurrence.interval.nominal if isinstance(recurrence, Every) else 30 * SECOND
