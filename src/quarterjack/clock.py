"""The host's clock, processes and time zone. No other file reads a clock."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    def now(self) -> int: ...
    def monotonic(self) -> int: ...


class SystemClock:
    """The host's clock. Everything else takes `now` as an argument."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // 1000

    def monotonic(self) -> int:
        """Microseconds since some instant; never jumps, and stops while the host is suspended."""
        return time.monotonic_ns() // 1000

    def since_boot(self) -> int:
        """Like `monotonic`, but it goes on while the host is suspended."""
        if sys.platform == "linux":
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        # On macOS this clock goes on, and `time.monotonic` reads another one.
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000

    def chance(self) -> float:
        """A random number from 0 to 1, for spreading retries."""
        return int.from_bytes(os.urandom(4)) / 2**32


def process_name() -> str:
    """Unique over all hosts and restarts."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"


def host_and_pid() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


PROC = Path("/proc")
_ENDED = frozenset("ZXx")
"""The states of processes that have ended but were not reaped by their parents."""


def process_identity(pid: int, proc: Path = PROC) -> str:
    """Tells apart processes that had the same pid: unique over machines, containers and boots, and
    independent of any clock that can be set."""
    _, start = _state_and_start(pid, proc)
    return f"{_pid_namespace(proc)} {start}"


def is_running(pid: int, identity: str, proc: Path = PROC) -> bool | None:
    """Whether exactly this process still runs; None if it cannot be known, because it belongs to
    another machine, boot or container."""
    namespace, _, start = identity.rpartition(" ")
    if namespace != _pid_namespace(proc):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    state, start_now = _state_and_start(pid, proc)
    # A process whose state is hidden may be this one.
    return not state or (state not in _ENDED and start_now == start)


def _pid_namespace(proc: Path) -> str:
    """Where a pid is unique: one boot of a kernel and one container; where these are unknown, the
    host."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(proc / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _state_and_start(pid: int, proc: Path) -> tuple[str, str]:
    """The state of a process, and its start in ticks since the boot; both empty if unknown."""
    try:
        stat = (proc / str(pid) / "stat").read_text(errors="replace")
        fields = stat.rpartition(") ")[2].split()  # behind the name, which may contain anything
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""


def host_timezone(environment: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """The IANA zone name that the host declares, or the text it declares instead of one.

    The order is the C library's: `TZ`, where empty means UTC, then `/etc/localtime`; without both
    the zone is UTC.
    """
    declared = environment.get("TZ")
    if declared == "":
        return "UTC"
    path = etc / "localtime" if declared is None else Path(declared.removeprefix(":"))
    if path.is_symlink():
        path = path.readlink()
    if "zoneinfo" in path.parts:
        return str(path).rpartition("zoneinfo/")[2]
    if declared is not None:
        return str(path)
    return _first_line(etc / "timezone") or (str(path) if path.exists() else "UTC")


def _first_line(file: Path) -> str:
    """Without comments and empty lines."""
    lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
    return next((line.strip() for line in lines if line.strip() and line[0] != "#"), "")
