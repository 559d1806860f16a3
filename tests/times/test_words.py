"""Recurrences in words: every phrase of the table, and what its parts mean."""

from __future__ import annotations

import time

import pytest

from harness.times.phrases import NOW, Row, next_three, phrases
from quarterjack import parse
from quarterjack.times.words import parse_words


def _next_three(phrase: str) -> str:
    recurrence = parse(phrase, now=NOW)
    found: list[str] = []
    after = NOW
    while len(found) < 3 and (slot := recurrence.next(after)):
        found.append(slot.isoformat().removesuffix("+00:00").removesuffix(":00"))
        after = slot
    return " ".join(found) or "none"


@pytest.mark.mission("E10")
@pytest.mark.parametrize("row", phrases(), ids=lambda row: row.phrase)
def test_a_phrase_names_the_instants_of_the_table(row: Row):
    assert _next_three(row.phrase) == row.instants


def test_the_instants_of_the_table_are_those_of_what_is_written_beside():
    wrong = [row for row in phrases() if next_three(row.meaning) != row.instants]

    assert wrong == []
    assert len({row.phrase for row in phrases()}) >= 300


def test_a_phrase_costs_little():
    """`make bench-times` prints how little; this notices only that it grew many times."""
    texts = [row.phrase for row in phrases()]

    started_at = time.process_time()
    for text in texts:
        parse_words(text, "UTC", NOW)
    spent = (time.process_time() - started_at) / len(texts)

    assert spent < 0.002
