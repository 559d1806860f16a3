"""Addresses: which kind of database one names, and how it may be shown."""

from __future__ import annotations


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def without_secrets(url: str) -> str:
    """The address as it may be shown: who signs in, and with what, is left out, wherever it is
    said.

    >>> without_secrets("postgresql://ada:s3cret@db:5433/app?password=s3cret")
    'postgresql://db:5433/app'
    """
    scheme, separator, rest = url.partition("://")
    place, _, _ = rest.rpartition("@")[2].partition("?")
    return f"{scheme}{separator}{place}"
