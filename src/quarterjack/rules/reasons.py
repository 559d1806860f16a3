"""Reasons: the one closed list of why a slot did not run, or why a run or schedule ended so."""

from __future__ import annotations

from typing import Self

from quarterjack.rules.text_enum import TextEnum


class Reason(TextEnum):
    """A word to store and compare, and a sentence for people."""

    meaning: str

    def __new__(cls, word: str, meaning: str) -> Self:
        member = str.__new__(cls, word)
        member._value_ = word
        member.meaning = meaning
        return member

    # A slot was passed over: we chose not to run it.
    OVERLAP = "overlap", "an earlier run was still open"
    QUEUE_FULL = "queue_full", "queue_limit runs were waiting already"
    ONLY_BETWEEN = "only_between", "outside the hours of only_between"
    NOT_ON = "not_on", "on a day that not_on leaves out"
    BREAKER_OPEN = "breaker_open", "the circuit breaker was open"
    BREAKER_PROBING = "breaker_probing", "the circuit breaker's one probe was under way"
    OUTSTANDING_POLLS = "outstanding_polls", "enough polls of the plugin were outstanding"
    REPEATS = "repeats", "total_repeats is used up, or will be by the runs that are open"
    CONSECUTIVE_ERRORS = "consecutive_errors", "max_consecutive_errors was reached"

    # A slot was passed over: we could not run it in time.
    COALESCED = "coalesced", "several slots were due at once and a newer one stands for them"
    GRACE = "grace", "found later than grace"
    MAX_CATCH_UP_RUNS = "max_catch_up_runs", "older than the newest max_catch_up_runs slots"
    CATCH_UP_WINDOW = "catch_up_window", "older than catch_up_window"
    OUTAGE = "outage", "no planner was alive when it came due"
    OUTAGE_LIMIT = "outage_limit", "max_catchup_runs schedules were caught up after the outage"

    # A run was closed before it started.
    PAUSED = "paused", "the schedule was paused"
    DELETED = "deleted", "the schedule was deleted"
    INACTIVE = "inactive", "the schedule was no longer active"
    SUPERSEDED = "superseded", "a new slot came before the retry"
    REPLACED = "replaced", "a newer run took its place"
    REQUESTED = "requested", "a person asked for it"

    # A run that started ended for good.
    EXHAUSTED = "exhausted", "the retries are used up"
    NOT_RETRYABLE = "not_retryable", "the work said that trying again is of no use"
    WORKER_LOST = "worker_lost", "the worker was lost"

    # A schedule rests or is finished.
    DECLARED_DISABLED = "declared_disabled", "it is declared with enabled: false"
    NO_MORE_SLOTS = "no_more_slots", "its recurrence names no further slot"


MISSED = frozenset(
    {
        Reason.COALESCED,
        Reason.GRACE,
        Reason.MAX_CATCH_UP_RUNS,
        Reason.CATCH_UP_WINDOW,
        Reason.OUTAGE,
        Reason.OUTAGE_LIMIT,
    }
)
"""What we could not do in time; any other reason is our choice."""
