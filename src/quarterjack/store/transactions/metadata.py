"""Metadata: texts that belong to the whole database, by name."""

from __future__ import annotations

from functools import lru_cache

from quarterjack.rules import ServiceSettings
from quarterjack.store.statements import Query, Statements

SERVICE_SETTINGS = "service_settings"
"""The settings that the last start of the service stored."""
_parsed = lru_cache(10)(ServiceSettings.from_text)


def read_metadata(name: str) -> Statements[str | None]:
    rows = yield Query("metadata", (name,))
    return rows[0][0] if rows else None


def read_settings() -> Statements[ServiceSettings]:
    return _parsed((yield from read_metadata(SERVICE_SETTINGS)))


def put_metadata(name: str, value: str) -> Statements[None]:
    yield Query("put_metadata", (name, value))


def record_zone_data(version: str, now: int) -> Statements[bool]:
    known = yield from read_metadata("zone_data")
    if known == version:
        return False
    yield from put_metadata("zone_data", version)
    if known is None:
        return False
    yield Query("wake_all", (now,))
    return True
