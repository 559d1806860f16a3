"""Fixed instants for tests: `at("2025-03-08T12:00Z")`, and `us(...)` in microseconds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def us(text: str) -> int:
    return (at(text) - EPOCH) // timedelta(microseconds=1)


def texts(instants: list[datetime]) -> list[str]:
    """As `2025-03-09T07:00Z`."""
    return [f"{instant:%Y-%m-%dT%H:%M}Z" for instant in instants]
