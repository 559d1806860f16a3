"""What the tasks of one process share, and what one of them may have changed for the next: it is
put back after each call. What cannot be put back ends the process."""

from __future__ import annotations

import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

RUNS_MAX = 10_000
MEMORY_GROWTH_MAX = 256 * 1024 * 1024
"""Bytes that the process may have grown by; what Python frees does not all go back."""
_DESCRIPTORS_MAX, _THREADS_MAX, _ENDED_CHILDREN_MAX = 500, 20, 100
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE)
_KIBIBYTE = 1024 if sys.platform == "linux" else 1


class Surroundings:
    """As they are when the process is ready."""

    def __init__(self) -> None:
        self._folder = os.getcwd()  # noqa: PTH109
        self._environment = dict(os.environ)
        self._streams = sys.stdin, sys.stdout, sys.stderr
        self._output = os.dup(1)
        self._output_file = _identity(self._output)
        self._handlers: list[tuple[signal.Signals, Any]] = [
            (each, signal.getsignal(each)) for each in _SIGNALS
        ]
        self._has_alarm = signal.getitimer(signal.ITIMER_REAL)[0] > 0
        self._children = _children()
        self._threads = threading.active_count()
        self._memory = _peak_memory()
        self._runs = 0

    def write(self, data: bytes) -> None:
        """To the output, also when a task has closed or replaced it."""
        with suppress(Exception):  # whatever a task has put in its place
            sys.stdout.flush()
        while data:
            data = data[os.write(self._output, data) :]

    def restore(self) -> None:
        with suppress(Exception):  # whatever a task has put in their place
            sys.stdout.flush()
            sys.stderr.flush()
        for descriptor in (1, 2):
            if _identity(descriptor) != self._output_file:
                os.dup2(self._output, descriptor)
        is_changed = (sys.stdin, sys.stdout, sys.stderr) != self._streams
        if is_changed or _is_closed(sys.stdout) or _is_closed(sys.stderr):
            self._restore_streams()
        if dict(os.environ) != self._environment:
            os.environ.clear()
            os.environ.update(self._environment)
        if _folder() != self._folder:
            with suppress(OSError):
                os.chdir(self._folder)
        if signal.getitimer(signal.ITIMER_REAL)[0] and not self._has_alarm:
            signal.setitimer(signal.ITIMER_REAL, 0)  # else it ends a later call
        for which, handler in self._handlers:
            if signal.getsignal(which) != handler:
                signal.signal(which, handler)

    def _restore_streams(self) -> None:
        sys.stdin, sys.stdout, sys.stderr = self._streams
        if _is_closed(sys.stdout):
            sys.stdout = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
        if _is_closed(sys.stderr):
            sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        self._streams = sys.stdin, sys.stdout, sys.stderr

    def why_to_end(self) -> str | None:
        """Why the next call gets another process."""
        self._runs += 1
        if self._runs >= RUNS_MAX:
            return f"it has executed {self._runs} runs"
        if _peak_memory() - self._memory > MEMORY_GROWTH_MAX:
            growth = _memory() - self._memory  # a task may have needed more for a while
            if growth > MEMORY_GROWTH_MAX:
                return f"it has grown by {growth >> 20} MiB"
        if _has_children():
            left = _children().items() - self._children.items()
            if any(is_living for _, is_living in left):
                return "a task left processes behind"
            if len(left) > _ENDED_CHILDREN_MAX:
                return f"tasks left {len(left)} ended processes behind"
        if threading.active_count() - self._threads > _THREADS_MAX:
            return f"tasks left {threading.active_count() - self._threads} threads behind"
        if _lowest_free_descriptor() > _DESCRIPTORS_MAX:
            return f"tasks left more than {_DESCRIPTORS_MAX} files open"
        return None


def _is_closed(stream: Any) -> bool:
    try:
        return bool(stream.closed)
    except ValueError:  # a task has detached what is below it
        return True


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        return None


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIBIBYTE


def _memory() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return _peak_memory()
    return pages * resource.getpagesize()


def _has_children() -> bool:
    """One system call, however many there are; a child that has ended is left for its parent."""
    if sys.platform != "linux":  # macOS has no such call that leaves it
        return False
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _children() -> dict[int, bool]:
    """Whether each is living, or has ended and nobody has waited for it. Also those that an ended
    child left behind: this process adopts them."""
    own, found = str(os.getpid()), dict[int, bool]()
    lists = list(Path("/proc/self/task").glob("*/children"))
    if lists:
        files = [Path(f"/proc/{pid}/stat") for each in lists for pid in _text(each).split()]
    else:  # a kernel without lists
        files = list(Path("/proc").glob("[0-9]*/stat"))
    for file in files:
        fields = _text(file).rpartition(")")[2].split()
        if fields and fields[1] == own:
            found[int(file.parent.name)] = fields[0] != "Z"
    return found


def _text(file: Path) -> str:
    """Empty if its process is gone."""
    try:
        return file.read_text()
    except OSError:
        return ""


def _lowest_free_descriptor() -> int:
    try:
        descriptor = os.dup(0)
    except OSError:  # there is none
        return _DESCRIPTORS_MAX + 1
    os.close(descriptor)
    return descriptor
