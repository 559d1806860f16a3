"""At and After: recurrences with a single slot."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from harness.times.at import at
from quarterjack import (
    After,
    At,
    InvalidRecurrence,
    parse,
)


@pytest.mark.mission("D5")
def test_at_is_one_instant():
    once = At("2026-11-16T09:00:00+02:00")

    assert once.at == at("2026-11-16T07:00Z")
    assert once.next(at("2026-11-16T06:59Z")) == at("2026-11-16T07:00Z")
    assert once.next(at("2026-11-16T07:00Z")) is None
    assert once.prev(at("2026-11-16T07:00Z")) == at("2026-11-16T07:00Z")
    assert once.prev(at("2026-11-16T06:59Z")) is None


@pytest.mark.mission("D5")
def test_after_is_fixed_by_its_creation_and_kept_over_restarts():
    once = After("2h", created_at=at("2025-01-01T00:00Z"))

    assert once.next(at("2025-01-01T00:00Z")) == at("2025-01-01T02:00Z")
    assert once.next(at("2025-01-01T02:00Z")) is None
    assert once.with_defaults(created_at=at("2025-01-01T01:00Z")) is once
    assert parse(once.to_json(), now=at("2025-01-05T00:00Z")) == once


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            {"after": "x"},
            'after "x" is not a valid duration; use units from large to small, such as 90s',
        ),
        ({"after": "2h", "created_at": "x"}, 'created_at "x" is not RFC 3339'),
    ],
)
def test_after_is_validated_when_it_is_created(words: dict[str, Any], message: str):
    with pytest.raises(InvalidRecurrence) as caught:
        After(**words)

    assert str(caught.value).startswith(message)


def test_there_is_no_slot_after_the_year_9999():
    assert After("1d", created_at=at("9999-12-31T12:00Z")).next(at("9999-12-31T12:00Z")) is None


def test_after_without_creation_counts_from_the_given_instant():
    assert After("2h").next(at("2025-01-01T00:00Z")) == at("2025-01-01T02:00Z")
    assert After(timedelta(seconds=1.5)).between(
        at("2025-01-01T00:00Z"), at("2025-01-02T00:00Z")
    ) == [at("2025-01-01T00:00:01.5Z")]
    with pytest.raises(InvalidRecurrence, match='after "2h" has no anchor; set created_at'):
        After("2h").prev(at("2025-01-01T00:00Z"))
