"""The SQLite library itself: one with a fault that damages databases is refused."""

from __future__ import annotations

import apsw

from quarterjack.errors import StoreUnusable

_MENDED_IN = {(3, 44): 6, (3, 50): 7, (3, 51): 3}
"""Where the fix was carried over to an older line, and in which release of it."""
_MENDED_FROM = (3, 53)


def may_lose_commits(version: str) -> bool:
    """Has this release the fault of resetting a log (`-wal`) that another process is just writing
    back? Commits are lost by it, and the file is damaged."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    line = (major, minor)
    return line < _MENDED_FROM and patch < _MENDED_IN.get(line, patch + 1)


def refuse_faulty_library() -> None:
    """StoreUnusable, if databases are not safe with it."""
    version = apsw.sqlite_lib_version()
    if may_lose_commits(version):
        fault = f"SQLite {version} may lose commits when two processes write"
        raise StoreUnusable(f"{fault}; install an apsw that brings SQLite 3.53.0 or later")
