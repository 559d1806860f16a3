"""Addresses of databases: which kind they name, and how they are shown."""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from quarterjack.errors import StoreUnusable

DEFAULT_SCHEMA = "quarterjack"


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


class Address(NamedTuple):
    """The URL of a PostgreSQL database, and the schema that holds our tables."""

    url: str
    schema: str = DEFAULT_SCHEMA

    def __str__(self) -> str:
        """Without user and password."""
        url = without_secrets(self.url)
        return url if self.schema == DEFAULT_SCHEMA else f"{url}?schema={self.schema}"


def address_of(url: str) -> Address:
    """`postgresql://user@host/database`, with `?schema=` for another schema. To be called before a
    module that imports asyncpg is imported: it is refused if asyncpg is not installed."""
    if find_spec("asyncpg") is None:
        remedy = "install quarterjack[postgres]"
        raise StoreUnusable(f"PostgreSQL needs asyncpg, which is not installed; {remedy}")
    parts = urlsplit(url)
    parameters = parse_qsl(parts.query)
    schema = dict(parameters).get("schema", DEFAULT_SCHEMA)
    if not schema.isidentifier() or not schema.isascii() or schema != schema.lower():
        remedy = "use lower-case letters, digits and _"
        raise StoreUnusable(f"database {Address(url)}: invalid schema {schema!r}; {remedy}")
    others = urlencode([each for each in parameters if each[0] != "schema"])
    return Address(urlunsplit(parts._replace(query=others)), schema)


def without_secrets(url: str) -> str:
    """The address as it may be shown and logged: without user and password, wherever they are.

    >>> without_secrets("postgresql://ada:s3cret@db:5433/app?password=s3cret")
    'postgresql://db:5433/app'
    """
    scheme, separator, rest = url.partition("://")
    shown, _, _ = rest.partition("?")
    if "@" not in shown and "/" not in shown:  # an unescaped question mark in the password
        shown, _, _ = rest.rpartition("@")[2].partition("?")
    return f"{scheme}{separator}{shown.rpartition('@')[2]}"
