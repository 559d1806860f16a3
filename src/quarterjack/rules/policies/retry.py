"""Retry: a failed or timed-out attempt is followed by another, `max_retries` times.

The delay counts from the end of the failure: `fixed`, or `exponential`: delay x 2^(n-1), at most
10 x delay. A new slot may supersede a retry that waits (`slot_preempts_retry`). When the retries
are used up, the schedule goes on (`continue`), is `dead`, or pauses (`pause`).
"""

from __future__ import annotations

from typing import NamedTuple

from quarterjack.rules.text_enum import TextEnum
from quarterjack.times import Every, Recurrence
from quarterjack.times.instants import SECOND

CAP = 10
_DOUBLINGS_MAX = 4
"""2^4 is beyond the cap already."""


class Backoff(TextEnum):
    EXPONENTIAL = "exponential"
    FIXED = "fixed"


class OnExhausted(TextEnum):
    CONTINUE = "continue"
    DEAD = "dead"
    PAUSE = "pause"


class Retry(NamedTuple):
    retries_max: int | None
    """None is endless."""
    delay: int
    backoff: Backoff
    preempted_by_slot: bool
    on_exhausted: OnExhausted
    is_delay_given: bool = True
    """Else it is the interval's, and follows that when it is edited."""

    def allows(self, failures: int) -> bool:
        """May there be another attempt after so many failures?"""
        return self.retries_max is None or failures <= self.retries_max

    def delay_after(self, failures: int) -> int:
        if self.backoff is Backoff.FIXED:
            return self.delay
        return min(self.delay << min(failures - 1, _DOUBLINGS_MAX), CAP * self.delay)


def default_delay(recurrence: Recurrence) -> int:
    """The interval, if there is one."""
    return recurrence.interval.nominal if isinstance(recurrence, Every) else 30 * SECOND
