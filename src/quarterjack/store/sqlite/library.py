"""The SQLite library: releases with a fault that damages databases are refused."""

from __future__ import annotations

import apsw

from quarterjack.errors import StoreUnusable

_BACKPORTED_IN = {(3, 44): 6, (3, 50): 7, (3, 51): 3}
"""Older release lines that have the fix, from which patch release on."""
_FIXED_IN = (3, 53)


def may_lose_commits(version: str) -> bool:
    """Whether this release may reset a WAL that another process is checkpointing at that moment,
    which loses commits and corrupts the file."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    line = (major, minor)
    return line < _FIXED_IN and patch < _BACKPORTED_IN.get(line, patch + 1)


def refuse_faulty_library() -> None:
    version = apsw.sqlite_lib_version()
    if may_lose_commits(version):
        fault = f"SQLite {version} may lose commits when two processes write"
        raise StoreUnusable(f"{fault}; install an apsw that brings SQLite 3.53.0 or later")
