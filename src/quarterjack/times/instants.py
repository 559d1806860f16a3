"""Instants: integer microseconds since 1970 in UTC; conversion from and to datetimes and text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from quarterjack.errors import InvalidRecurrence
from quarterjack.times.checks import invalid

MICROSECOND = timedelta(microseconds=1)
MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_ORDINAL = EPOCH.toordinal()
EARLIEST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
LATEST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND

_RFC_3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d)?(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)?", re.ASCII
)


def from_datetime(when: datetime, field: str = "datetime") -> int:
    """Refuses a naive datetime."""
    try:
        return (when - EPOCH) // MICROSECOND
    except TypeError:
        raise not_an_instant(when, field) from None


def to_datetime(instant: int) -> datetime:
    """An aware datetime in UTC."""
    return EPOCH + instant * MICROSECOND


def to_text(instant: int) -> str:
    """RFC 3339 with `Z`, with a fraction only where there is one."""
    return to_datetime(instant).isoformat().removesuffix("+00:00") + "Z"


def read_instant(value: object, field: str) -> int:
    """An instant from an aware datetime, RFC 3339 text, or integer Unix milliseconds."""
    if isinstance(value, datetime):
        return _within_years(from_datetime(value, field), value, field)
    if isinstance(value, str):
        return _from_text(value, field)
    if isinstance(value, int) and not isinstance(value, bool):
        return _within_years(value * MILLISECOND, value, field)
    remedy = "use RFC 3339 text, Unix milliseconds or an aware datetime"
    raise invalid(field, value, "is not an instant", remedy)


def read_datetime(value: object, field: str) -> datetime:
    """The same in UTC, as a datetime."""
    return to_datetime(read_instant(value, field))


def _from_text(text: str, field: str) -> int:
    found = _RFC_3339.fullmatch(text)
    if found is None:
        raise invalid(field, text, "is not RFC 3339", 'write it as "2026-11-16T09:00:00Z"')
    day, minute, second, fraction, offset = found.groups()
    if offset is None:
        remedy = 'append "Z" or an offset such as "+02:00"'
        raise invalid(field, text, "has no offset from UTC", remedy)
    canonical = f"{day}T{minute}{second or ':00'}{(fraction or '')[:7]}{offset.upper()}"
    try:
        when = datetime.fromisoformat(canonical)
    except ValueError as error:
        reason, remedy = f"does not exist ({error})", "use a valid date and time"
        raise invalid(field, text, reason, remedy) from None
    return _within_years(from_datetime(when), text, field)


def _within_years(instant: int, value: object, field: str) -> int:
    if EARLIEST <= instant <= LATEST:
        return instant
    raise invalid(field, value, "is outside the years 1 to 9999", "use an instant within them")


def not_an_instant(when: object, field: str = "datetime") -> InvalidRecurrence:
    if isinstance(when, datetime):
        remedy = "add a time zone, as in datetime(2026, 11, 16, 9, tzinfo=UTC)"
        return invalid(field, str(when), "is naive", remedy)
    return invalid(field, when, "is not a datetime", "use an aware datetime")
