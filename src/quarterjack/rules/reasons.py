"""Every reason why a slot did not run, or why a run or schedule ended the way it did."""

from __future__ import annotations

from typing import Self

from quarterjack.rules.text_enum import TextEnum


class Reason(TextEnum):
    """The stored word, and its `meaning`: a sentence to show to people."""

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    # Slots that were skipped: a policy decided against them.
    OVERLAP = "overlap", "an earlier run was still open"
    QUEUE_FULL = "queue_full", "queue_limit runs were already waiting"
    ONLY_BETWEEN = "only_between", "outside the hours of only_between"
    NOT_ON = "not_on", "on a day that not_on excludes"
    BREAKER_OPEN = "breaker_open", "the circuit breaker was open"
    BREAKER_PROBING = "breaker_probing", "the circuit breaker's probe run was in progress"
    OUTSTANDING_POLLS = "outstanding_polls", "max_outstanding_polls polls were already outstanding"
    REPEATS = "repeats", "total_repeats is used up, or will be by the open runs"
    CONSECUTIVE_ERRORS = "consecutive_errors", "max_consecutive_errors was reached"

    # Slots that were missed: they could not run in time.
    COALESCED = "coalesced", "merged into the latest slot"
    GRACE = "grace", "found later than grace allows"
    MAX_CATCH_UP_RUNS = "max_catch_up_runs", "older than the newest max_catch_up_runs slots"
    CATCH_UP_WINDOW = "catch_up_window", "older than catch_up_window"
    OUTAGE = "outage", "no planner was alive when the slot came due"
    OUTAGE_LIMIT = "outage_limit", "max_catchup_runs schedules were caught up after the outage"

    # Runs that were closed before they started.
    PAUSED = "paused", "the schedule was paused"
    DELETED = "deleted", "the schedule was deleted"
    INACTIVE = "inactive", "the schedule was no longer active"
    SUPERSEDED = "superseded", "a new slot came before the retry"
    REPLACED = "replaced", "a newer run took its place"
    REQUESTED = "requested", "cancelled on request"

    # Runs that started and have ended for good.
    EXHAUSTED = "exhausted", "the retries are used up"
    NOT_RETRYABLE = "not_retryable", "the target reported an error that is not retryable"
    WORKER_LOST = "worker_lost", "the worker was lost"
    BY_TASK = "by_task", "the task had nothing to do"

    # Schedules that are paused or done.
    DECLARED_DISABLED = "declared_disabled", "declared with enabled: false"
    NO_MORE_SLOTS = "no_more_slots", "the recurrence has no further slot"


MISSED = frozenset({
    Reason.COALESCED, Reason.GRACE, Reason.MAX_CATCH_UP_RUNS, Reason.CATCH_UP_WINDOW,
    Reason.OUTAGE, Reason.OUTAGE_LIMIT,
})  # fmt: skip
"""Slots with these reasons are `missed`; with any other reason they are `skipped`."""
