"""The only file that reads a clock, or asks the host where and who it is."""

from __future__ import annotations

import math
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


def is_running(host: str, pid: int, age: int) -> bool:
    """Is there such a process, which is at least that old? Numbers are given again to others. Of
    other hosts nobody here can tell: there is none."""
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return age <= _age_of(pid)


def _age_of(pid: int) -> float:
    """How long ago a process began, where that can be told; else very long ago."""
    try:
        began = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[19]
        since_boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    except (OSError, IndexError, AttributeError):
        return math.inf
    return since_boot - int(began) * 1_000_000 // os.sysconf("SC_CLK_TCK")


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
