"""The only file that reads a clock, or asks the host where it is."""

from __future__ import annotations

import os
import time
from pathlib import Path


class SystemClock:
    """The host's clock. Everything else is handed `now`."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // 1000


def host_timezone(
    environment: dict[str, str] | os._Environ[str] = os.environ,
    etc: Path = Path("/etc"),
) -> str:
    """The host's IANA zone name as it declares it, or what it says instead of one.

    The order is the C library's: `TZ`, then `/etc/localtime`. A host that says nothing is on UTC.
    """
    declared = environment.get("TZ", "").removeprefix(":")
    if declared:
        return _after_zoneinfo(declared)
    localtime = etc / "localtime"
    if localtime.is_symlink():
        return _after_zoneinfo(str(localtime.readlink()))
    named = etc / "timezone"
    if named.is_file():
        return named.read_text().strip()
    return str(localtime) if localtime.exists() else "UTC"


def _after_zoneinfo(path: str) -> str:
    return path.rpartition("zoneinfo/")[2]
