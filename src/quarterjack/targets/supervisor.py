"""The supervisor processes: no descendant of a command outlives it, whatever dies.

This file is a program of its own, with nothing but Python's library. A worker starts it once; for
each command this first process forks a supervisor, which is the subreaper of everything the command
starts: a descendant that daemonizes becomes the supervisor's child, and is killed by it. The end of
the control socket means that the worker died; then everything is killed at once. The same holds if
the first process dies. If a supervisor itself is killed or hangs, its command dies with it, and
what is left becomes a child of the first process, which kills it too. Two cases have no remedy: all
of them killed in the same instant, and a command that became another user.

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
_POLL_SECONDS = 0.005
_KILL_SECONDS = 10.0
_PROC = Path("/proc")


def main() -> None:
    """The first process: forks supervisors until its worker is gone and they have ended."""
    worker = socket.socket(fileno=0)
    _adopt_orphans()
    wakeup, wakeup_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
    supervisors: set[int] = set()
    is_open = True
    while is_open or supervisors:
        readers: list[Any] = [wakeup, worker] if is_open else [wakeup]
        ready, _, _ = select.select(readers, [], [], None if is_open else _KILL_SECONDS)
        if wakeup in ready:
            os.read(wakeup, 4096)
        supervisors -= _reap()
        _kill_strays(supervisors)
        if worker in ready:
            request, descriptors, _, _ = socket.recv_fds(worker, 1, 2)
            is_open = bool(request)
            if is_open:
                supervisors.add(_fork(descriptors))
        if not ready:  # the worker is gone, and they do not end: they may be suspended
            for pid in supervisors:
                _send_signal(pid, signal.SIGKILL)


def _fork(descriptors: list[int]) -> int:
    control, output = descriptors
    first = os.getpid()
    pid = os.fork()
    if pid:
        os.close(control)
        os.close(output)
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Only the first process may hold its socket open: a worker must see it close when that
        # process dies.
        os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
        _supervise(socket.socket(fileno=control), output, os.pidfd_open(first))
        code = 0
    finally:
        os._exit(code)


def _supervise(control: socket.socket, output: int, first: int) -> None:
    """One command, from its start until no process of it is left."""
    _adopt_orphans()
    _send_line(control, f"under {os.getpid()}")
    request = _read_line(control)
    if request is None:
        return
    refusal, pid = _start(json.loads(request), control, output)
    os.close(output)
    if refusal:
        _send_line(control, f"refused {refusal}")
        return
    code = _wait(pid, control, first)
    _kill_descendants()
    _send_line(control, f"exited {code}")


def _start(request: Any, control: socket.socket, output: int) -> tuple[str, int]:
    """The command in a session of its own; or why it could not be started."""
    error_read, error_write = (_above_standard(each) for each in os.pipe2(os.O_CLOEXEC))
    argv = request["argv"]
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            _libc().prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            control.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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


def _wait(pid: int, control: socket.socket, first: int) -> int:
    """Until the command has ended, by itself, on request, or because the worker is gone."""
    ended = os.pidfd_open(pid)
    readers: list[Any] = [ended, control, first]
    ready, _, _ = select.select(readers, [], [])
    stop = _read_line(control) if control in ready and ended not in ready else None
    if stop is not None:
        _terminate(float(stop.partition(" ")[2]), control, first)
    if ended not in ready:
        _send_signal(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ended)
    return os.waitstatus_to_exitcode(status)


def _terminate(seconds: float, control: socket.socket, first: int) -> None:
    """SIGTERM to all descendants, which get that long; less, if the worker dies meanwhile."""
    readers: list[Any] = [control, first]
    for each in _descendants(os.getpid()):
        _send_signal(each, signal.SIGTERM)
    polls_without_any = 0
    for _ in range(int(seconds / _POLL_SECONDS)):
        alive = [each for each in _descendants(os.getpid()) if not _is_dead(each)]
        # Twice, because a process whose parent has just ended may not be listed anywhere until it
        # has become a child of this one.
        polls_without_any = 0 if alive else polls_without_any + 1
        if polls_without_any == 2:
            return
        if any(select.select(readers, [], [], _POLL_SECONDS)):
            return


def _is_dead(pid: int) -> bool:
    """Gone, or a zombie."""
    return _read(_PROC / str(pid) / "stat").rpartition(") ")[2][:1] in ("Z", "")


def _kill_descendants() -> None:
    """Until none is left: orphans become children of this process, and are found again."""
    for _ in range(int(_KILL_SECONDS / _POLL_SECONDS)):
        _reap()
        alive = _descendants(os.getpid())
        if not alive:
            return
        for pid in alive:
            _send_signal(pid, signal.SIGKILL)
        select.select([], [], [], _POLL_SECONDS)


def _kill_strays(supervisors: set[int]) -> None:
    """Processes that became children of the first one because their supervisor was killed."""
    for pid in _children(os.getpid()) - supervisors:
        for each in (pid, *_descendants(pid)):
            _send_signal(each, signal.SIGKILL)


def _reap() -> set[int]:
    """The children that have ended."""
    ended: set[int] = set()
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if not pid:
            return ended
        ended.add(pid)


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


def _adopt_orphans() -> None:
    """Orphaned descendants become children of this process."""
    _libc().prctl(_CHILD_SUBREAPER, 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


if __name__ == "__main__":
    main()
    sys.exit(0)
