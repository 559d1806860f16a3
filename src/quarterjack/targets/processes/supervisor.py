"""The supervisor processes: no descendant of a command outlives it, whatever dies.

This file is a program of its own, with nothing but Python's library. A worker starts it once; for
each command this first process forks a supervisor, which is the subreaper of everything the command
starts: a descendant that daemonizes becomes the supervisor's child, and is killed by it. The end of
the control socket means that the worker died; then everything is killed at once. The same holds if
the first process dies. If a supervisor itself is killed or hangs, its command dies with it, and
what is left becomes a child of the first process, which kills it too. Two cases have no remedy: all
of them killed in the same instant, and a command that became another user.

All this needs Linux. Elsewhere a supervisor kills the process group of its command: processes that
left the group are not found, and nothing is, if the supervisor itself was killed.

Control protocol, one line each way: the worker sends the command as JSON and perhaps `stop SECONDS`
later; the supervisor sends `under PID`, its own, and then `exited CODE` (negative: by a signal) or
`refused REASON`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36
"""Dies with its parent; adopts orphaned descendants."""
_POLL_SECONDS = 0.005
_KILL_SECONDS = 10.0
_PROC = Path("/proc")


def main() -> None:
    """The first process: forks supervisors until its worker is gone and they have ended."""
    worker = socket.socket(fileno=0)
    _prctl(_CHILD_SUBREAPER, 1)
    wakeup, alive = _wake_up_when_children_end(), os.pipe()
    supervisors: set[int] = set()
    is_open = True
    while is_open or supervisors:
        readers: list[Any] = [wakeup, worker] if is_open else [wakeup]
        ready, _, _ = select.select(readers, [], [], None if is_open else _KILL_SECONDS)
        if wakeup in ready:
            os.read(wakeup, 4096)
        supervisors -= _reap().keys()
        _kill_strays(supervisors)
        if worker in ready:
            request, descriptors, _, _ = socket.recv_fds(worker, 1, 3)
            is_open = bool(request)
            if is_open:
                supervisors.add(_fork(descriptors, alive))
        if not ready:  # the worker is gone, and they do not end: they may be suspended
            for pid in supervisors:
                _send_signal(pid, signal.SIGKILL)


def _wake_up_when_children_end() -> int:
    """A descriptor that can be read when one has ended."""
    wakeup, write = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    return wakeup


def _fork(descriptors: list[int], alive: tuple[int, int]) -> int:
    """`alive` is a pipe that only the first process can write: its end is the end of that."""
    pid = os.fork()
    if pid:
        for each in descriptors:
            os.close(each)
        return pid
    control, output, *stdin = descriptors
    first, first_write = alive
    code = 1
    try:
        os.close(first_write)
        # Only the first process may hold its socket open: a worker must see it close when that
        # process dies.
        os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
        _supervise(socket.socket(fileno=control), output, stdin, first)
        code = 0
    finally:
        os._exit(code)


def _supervise(control: socket.socket, output: int, stdin: list[int], first: int) -> None:
    """One command, from its start until no process of it is left."""
    _prctl(_CHILD_SUBREAPER, 1)
    wakeup = _wake_up_when_children_end()
    _send_line(control, f"under {os.getpid()}")
    request = _read_line(control)
    if request is None:
        return
    refusal, pid = _start(json.loads(request), control, output, stdin)
    for each in (output, *stdin):
        os.close(each)
    if refusal:
        _send_line(control, f"refused {refusal}")
        return
    command = _Command(pid)
    _follow(command, control, first, wakeup)
    _send_line(control, f"exited {command.kill()}")


def _start(request: Any, control: socket.socket, output: int, stdin: list[int]) -> tuple[str, int]:
    """The command in a session of its own; or why it could not be started."""
    error_read, error_write = (_above_standard(each) for each in os.pipe())
    argv = request["argv"]
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python
                signal.signal(ignored, signal.SIG_DFL)
            control.close()
            os.dup2(stdin[0] if stdin else os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
            if output > 2:
                os.close(output)
            os.chdir(request["folder"])
            os.execvpe(argv[0], argv, request["environment"])  # noqa: S606
        except (OSError, ValueError) as error:
            why = f"{argv[0]}: {getattr(error, 'strerror', None) or error}"
            os.write(error_write, why.encode(errors="replace")[:4000])
        finally:
            os._exit(127)
    os.close(error_write)
    refusal = os.read(error_read, 4096).decode(errors="replace")
    os.close(error_read)
    return refusal.replace("\n", " "), pid


def _above_standard(descriptor: int) -> int:
    """Moved above 2, so that the command's own standard streams do not replace it."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _follow(command: _Command, control: socket.socket, first: int, wakeup: int) -> None:
    """Until it has ended, has been asked to end, or the worker or the first process is gone."""
    readers: list[Any] = [control, first]
    ready: list[Any] = []
    while not command.has_ended() and not ready:
        ready, _, _ = select.select([wakeup, *readers], [], [])
        if wakeup in ready:
            os.read(wakeup, 4096)
            ready.remove(wakeup)
    stop = _read_line(control) if control in ready else None
    if stop is not None:
        command.terminate(float(stop.partition(" ")[2]), readers)


class _Command:
    """The command of this supervisor: its own process, and everything that this has started."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._code: int | None = None

    def has_ended(self) -> bool:
        status = _reap().get(self._pid)
        if status is not None:
            self._code = os.waitstatus_to_exitcode(status)
        return self._code is not None

    def terminate(self, seconds: float, readers: list[Any]) -> None:
        """SIGTERM to all processes, which get that long; less, if the worker dies meanwhile."""
        self._send_all(signal.SIGTERM)
        polls_without_any = 0
        for _ in range(int(seconds / _POLL_SECONDS)):
            self.has_ended()
            # Twice, because a process whose parent has just ended may not be listed anywhere until
            # it has become a child of this one.
            polls_without_any = 0 if self._is_any_alive() else polls_without_any + 1
            if polls_without_any == 2:
                return
            if any(select.select(readers, [], [], _POLL_SECONDS)):
                return

    def kill(self) -> int:
        """Until no process is left: orphans become children of this one, and are found again.
        Returns the exit code."""
        for _ in range(int(_KILL_SECONDS / _POLL_SECONDS)):
            self.has_ended()
            if not self._send_all(signal.SIGKILL):
                break
            select.select([], [], [], _POLL_SECONDS)
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._code

    def _send_all(self, which: signal.Signals) -> bool:
        """False if no process is left, not even one that has ended."""
        if sys.platform != "linux":
            return _send_group(self._pid, which)
        pids = _descendants(os.getpid())
        for each in pids:
            _send_signal(each, which)
        return bool(pids)

    def _is_any_alive(self) -> bool:
        if sys.platform != "linux":
            return _send_group(self._pid, 0)
        return not all(_is_dead(each) for each in _descendants(os.getpid()))


def _send_group(group: int, which: int) -> bool:
    try:
        os.killpg(group, which)
    except (ProcessLookupError, PermissionError):  # macOS refuses if all of them have ended
        return False
    return True


def _is_dead(pid: int) -> bool:
    """Gone, or a zombie."""
    return _read(_PROC / str(pid) / "stat").rpartition(") ")[2][:1] in ("Z", "")


def _kill_strays(supervisors: set[int]) -> None:
    """Processes that became children of the first one because their supervisor was killed."""
    for pid in _children(os.getpid()) - supervisors:
        for each in (pid, *_descendants(pid)):
            _send_signal(each, signal.SIGKILL)


def _reap() -> dict[int, int]:
    """The children that have ended, and how."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended[pid] = status


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    pending = [pid]
    while pending:
        children = _children(pending.pop())
        found += children
        pending += children
    return found


def _children(pid: int) -> set[int]:
    """From the kernel's list for each thread; a kernel without lists is searched by parent."""
    lists = list((_PROC / str(pid) / "task").glob("*/children"))
    if lists:
        return {int(child) for each in lists for child in _read(each).split()}
    return {int(each.name) for each in _PROC.glob("[0-9]*") if _parent(each) == pid}


def _parent(process: Path) -> int | None:
    fields = _read(process / "stat").rpartition(") ")[2].split()
    return int(fields[1]) if fields else None


def _read(file: Path) -> str:
    """A file of /proc; empty if its process is gone."""
    try:
        return file.read_text()
    except OSError:
        return ""


def _send_signal(pid: int, which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, which)


def _read_line(control: socket.socket) -> str | None:
    """The next line from the worker; None if it is gone."""
    line = b""
    while not line.endswith(b"\n"):
        try:
            more = control.recv(65536)
        except OSError:
            return None
        if not more:
            return None
        line += more
    return line.decode()


def _send_line(control: socket.socket, line: str) -> None:
    with contextlib.suppress(OSError):  # the worker may be gone
        control.sendall(f"{line}\n".encode())


def _prctl(option: int, value: int) -> None:
    """An attribute of this process that only Linux has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


if __name__ == "__main__":
    main()
    sys.exit(0)
