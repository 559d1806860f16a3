"""Recurrences in English words: `every monday at 9am`. See docs/words.md.

Read in this order: `tokens`, `reader` (numbers) and `dates`; `said` (what a phrase says); the
clauses in `days`, `intervals` and `grammar`; then `clock`, `calendar`, `crons` and `meaning`, which
make the recurrence of it; and `refusals` with `unclear`: errors with phrases that work.

Promised: exact. What has two readings is refused with both, and what has none with the place.
"""

from __future__ import annotations

from datetime import datetime

from quarterjack.times.checks import check_text
from quarterjack.times.recurrence import Recurrence
from quarterjack.times.words.grammar import read_phrases
from quarterjack.times.words.meaning import recurrence_of
from quarterjack.times.words.refusals import refusal
from quarterjack.times.words.tokens import NotUnderstood


def parse_words(text: str, timezone: str = "UTC", now: datetime | None = None) -> Recurrence:
    """The recurrence that these words name, with its zone: the one in the text, else `timezone`.
    Relative phrases ("tomorrow at 9am") need `now`; it also anchors intervals."""
    check_text(text, "schedule")

    def read(phrase: str) -> Recurrence:
        return recurrence_of(read_phrases(phrase), timezone, now)

    try:
        return read(text)
    except NotUnderstood as problem:
        raise refusal(text, problem, read) from None
