"""Settings of a service as written, with their defaults, and the choice of the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

DATABASE_URL = "QUARTERJACK_DATABASE_URL"
"""The environment variable that names the database."""
DEFAULT_DATABASE = "sqlite:///quarterjack.db"


class Settings(NamedTuple):
    """Unchecked; each is validated where it is used."""

    name: str | None = None
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
    """The database URL from the option, the environment, the file, or the default."""
    written = settings.database if settings is not None else None
    return option or environment.get(DATABASE_URL) or written or DEFAULT_DATABASE
