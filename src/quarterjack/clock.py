"""The only file that reads a clock, or asks the host where and who it is."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path


class SystemClock:
    """The host's clock. Everything else is handed `now`."""

    def now(self) -> int:
        """Microseconds since 1970, UTC."""
        return time.time_ns() // 1000

    def monotonic(self) -> int:
        """Microseconds since some instant; it never jumps, and stands still while the host is
        suspended."""
        return time.monotonic_ns() // 1000

    def since_boot(self) -> int:
        """The same, but it goes on while the host is suspended, where that can be told."""
        if hasattr(time, "CLOCK_BOOTTIME"):
            return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        return self.monotonic()

    def chance(self) -> float:
        """From 0 to 1: so that not everybody does something at the same moment."""
        return int.from_bytes(os.urandom(4)) / 2**32


def process_name() -> str:
    """A name that no other process has, on any host and after any restart."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"


def host_and_pid() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


PROC = Path("/proc")
_ENDED = frozenset("ZXx")
"""The states of processes that do not run any more, though their parents have not noticed."""


def process_identity(pid: int, proc: Path = PROC) -> str:
    """Says of a process of this host which one it is, for numbers are given again. No other has the
    same, on any machine, in any container or after any boot; and no clock that can be set is in it.
    """
    _, start = _state_and_start(pid, proc)
    return f"{_numbered_by(proc)} {start}"


def is_running(pid: int, identity: str, proc: Path = PROC) -> bool | None:
    """Does this very process still run? None, if it is one of another machine, boot or container:
    of these nobody here can tell."""
    numbered_by, _, start = identity.rpartition(" ")
    if numbered_by != _numbered_by(proc):
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    state, start_now = _state_and_start(pid, proc)
    # What cannot be seen may be it.
    return not state or (state not in _ENDED and start_now == start)


def _numbered_by(proc: Path) -> str:
    """Who gives processes their numbers: a kernel since its boot, to those of one container. Where
    that cannot be told, a host."""
    try:
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(proc / 'self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _state_and_start(pid: int, proc: Path) -> tuple[str, str]:
    """The state of a process, and when it started, in ticks since the boot; both are empty where
    that cannot be told."""
    try:
        stat = (proc / str(pid) / "stat").read_text(errors="replace")
        fields = stat.rpartition(") ")[2].split()  # its name may be anything
        return fields[0], fields[19]
    except (OSError, IndexError):
        return "", ""


def host_timezone(environment: Mapping[str, str] = os.environ, etc: Path = Path("/etc")) -> str:
    """The host's IANA zone name as it declares it, or what it says instead of one.

    The order is the C library's: `TZ`, which means UTC if it is empty, then `/etc/localtime`. A
    host that says nothing is on UTC.
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
    return _named_in(etc / "timezone") or (str(path) if path.exists() else "UTC")


def _named_in(file: Path) -> str:
    """The first line that is no comment."""
    lines = file.read_text(errors="replace").splitlines() if file.is_file() else []
    return next((line.strip() for line in lines if line.strip() and line[0] != "#"), "")
