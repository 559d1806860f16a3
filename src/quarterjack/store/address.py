"""Addresses: which kind of database one names, whether that can be used here, and how the address
may be shown."""

from __future__ import annotations

from importlib.util import find_spec

from quarterjack.errors import StoreUnusable


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


def refuse_without_driver() -> None:
    """Before anything is loaded that needs it."""
    if find_spec("asyncpg") is None:
        remedy = "install quarterjack[postgres]"
        raise StoreUnusable(f"PostgreSQL cannot be used here: asyncpg is missing; {remedy}")


def without_secrets(url: str) -> str:
    """The address as it may be shown: who signs in, and with what, is left out, wherever it is
    said.

    >>> without_secrets("postgresql://ada:s3cret@db:5433/app?password=s3cret")
    'postgresql://db:5433/app'
    """
    scheme, separator, rest = url.partition("://")
    said, _, _ = rest.partition("?")
    if "@" not in said and "/" not in said:  # a password with a question mark, not yet escaped
        said, _, _ = rest.rpartition("@")[2].partition("?")
    return f"{scheme}{separator}{said.rpartition('@')[2]}"
