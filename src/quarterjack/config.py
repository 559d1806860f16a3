"""Raw settings: what a person may say of a whole service, and what holds if nothing is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

DATABASE_URL = "QUARTERJACK_DATABASE_URL"
"""The environment variable that names the database."""
DEFAULT_DATABASE = "sqlite:///quarterjack.db"


class Settings(NamedTuple):
    """As written; whoever uses one checks it."""

    name: str = "default"
    database: str | None = None
    durability: str = "full"
    timezone: str | None = None
    preset: str | None = None
    defaults: Mapping[str, Any] = {}
    limits: Mapping[str, Any] = {}
    queues: Sequence[str] = ("default",)
    declared_only: bool | None = None
    workers: int = 16
    lease: Any = "10s"
    grace: Any = "10s"
    retention: Mapping[str, Any] = {}


def database_url(
    option: str | None, environment: Mapping[str, str], settings: Settings | None = None
) -> str:
    """The database that is meant: by the option, the environment, the file, or the default."""
    written = settings.database if settings is not None else None
    return option or environment.get(DATABASE_URL) or written or DEFAULT_DATABASE
