"""The supervising processes: no descendant of a command outlives it, whatever dies.

This file is a program of its own, with nothing but Python's library. A worker starts it once; for
each command it forks a supervisor, which is the subreaper of all that the command starts and ends
with it: whoever daemonizes inside falls to the supervisor, and is killed by it. The end of the
control socket means that the worker died, and then everything is killed at once. The same holds if
the first process dies. If a supervisor itself is killed or does not end when it should, its command
dies with it, and what is left falls to the first process, which kills it too. Two cases have no
remedy: all of them being killed in the same instant, and a command that became another user.

Control, one line each way: the worker sends the command as JSON and perhaps `stop SECONDS` later;
the supervisor says `under PID`, its own, and then `exited CODE` (negative: by a signal) or
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
_PATIENCE_SECONDS = 10.0
_PROC = Path("/proc")


def main() -> None:
    """The first process: it forks supervisors until its worker is gone and they are done."""
    door = socket.socket(fileno=0)
    _adopt_orphans()
    awake, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    supervisors: set[int] = set()
    is_open = True
    while is_open or supervisors:
        doors: list[Any] = [awake, door] if is_open else [awake]
        ready, _, _ = select.select(doors, [], [], None if is_open else _PATIENCE_SECONDS)
        if awake in ready:
            os.read(awake, 4096)
        supervisors -= _reaped()
        _kill_strays(supervisors)
        if door in ready:
            knock, descriptors, _, _ = socket.recv_fds(door, 1, 2)
            is_open = bool(knock)
            if is_open:
                supervisors.add(_forked(descriptors))
        if not ready:  # the worker is gone, and they do not end: somebody may have stopped them
            for pid in supervisors:
                _send(pid, signal.SIGKILL)


def _forked(descriptors: list[int]) -> int:
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
        # The door must close with the first process, or a worker would knock in vain.
        os.dup2(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), 0)
        _supervise(socket.socket(fileno=control), output, os.pidfd_open(first))
        code = 0
    finally:
        os._exit(code)


def _supervise(control: socket.socket, output: int, first: int) -> None:
    """One command, from its start until nothing of it is left."""
    _adopt_orphans()
    _say(control, f"under {os.getpid()}")
    request = _line(control)
    if request is None:
        return
    wanted = json.loads(request)
    refusal, pid = _start(wanted, control, output)
    os.close(output)
    if refusal:
        _say(control, f"refused {refusal}")
        return
    code = _watch(pid, control, first)
    _kill_descendants()
    _say(control, f"exited {code}")


def _start(wanted: Any, control: socket.socket, output: int) -> tuple[str, int]:
    """The command in a session of its own; or why it could not be started."""
    told, tell = (_above_standard(each) for each in os.pipe2(os.O_CLOEXEC))
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
            os.chdir(wanted["folder"])
            os.execvpe(wanted["argv"][0], wanted["argv"], wanted["environment"])  # noqa: S606
        except (OSError, ValueError) as error:
            why = f"{wanted['argv'][0]}: {getattr(error, 'strerror', None) or error}"
            os.write(tell, why.encode(errors="replace")[:4000])
        finally:
            os._exit(127)
    os.close(tell)
    refusal = os.read(told, 4096).decode(errors="replace")
    os.close(told)
    return refusal.replace("\n", " "), pid


def _above_standard(descriptor: int) -> int:
    """The same one, where the command's own input and output will not take its place."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _watch(pid: int, control: socket.socket, first: int) -> int:
    """Until the command ends, or the worker wants it to, or the worker is gone."""
    ended = os.pidfd_open(pid)
    doors: list[Any] = [ended, control, first]
    ready, _, _ = select.select(doors, [], [])
    said = _line(control) if control in ready and ended not in ready else None
    if said is not None:
        _end_gently(float(said.partition(" ")[2]), control, first)
    if ended not in ready:
        _send(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ended)
    return os.waitstatus_to_exitcode(status)


def _end_gently(seconds: float, control: socket.socket, first: int) -> None:
    """All of them are asked to end, and get that long; less, if the worker is gone meanwhile."""
    doors: list[Any] = [control, first]
    for each in _descendants(os.getpid()):
        _send(each, signal.SIGTERM)
    looks_in_vain = 0
    for _ in range(int(seconds / _POLL_SECONDS)):
        alive = [each for each in _descendants(os.getpid()) if not _is_dead(each)]
        # Twice, for one whose parent has just ended may be on its way to us and be seen nowhere.
        looks_in_vain = 0 if alive else looks_in_vain + 1
        if looks_in_vain == 2:
            return
        if any(select.select(doors, [], [], _POLL_SECONDS)):
            return


def _is_dead(pid: int) -> bool:
    """Gone, or waiting to be reaped."""
    return _text(_PROC / str(pid) / "stat").rpartition(") ")[2][:1] in ("Z", "")


def _kill_descendants() -> None:
    """Until none is left. Whoever loses its parent becomes our own child, and is found again."""
    for _ in range(int(_PATIENCE_SECONDS / _POLL_SECONDS)):
        _reaped()
        alive = _descendants(os.getpid())
        if not alive:
            return
        for pid in alive:
            _send(pid, signal.SIGKILL)
        select.select([], [], [], _POLL_SECONDS)


def _kill_strays(supervisors: set[int]) -> None:
    """What fell to the first process, because its supervisor was killed."""
    for pid in _children(os.getpid()) - supervisors:
        for each in (pid, *_descendants(pid)):
            _send(each, signal.SIGKILL)


def _reaped() -> set[int]:
    """Our own children that have ended."""
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
    ahead = [pid]
    while ahead:
        children = _children(ahead.pop())
        found += children
        ahead += children
    return found


def _children(pid: int) -> set[int]:
    """As the kernel lists them for each thread; where it does not, by asking every process for its
    parent."""
    lists = list((_PROC / str(pid) / "task").glob("*/children"))
    if lists:
        return {int(child) for each in lists for child in _text(each).split()}
    return {int(each.name) for each in _PROC.glob("[0-9]*") if _parent(each) == pid}


def _parent(process: Path) -> int | None:
    fields = _text(process / "stat").rpartition(") ")[2].split()
    return int(fields[1]) if fields else None


def _text(file: Path) -> str:
    """What a file of the kernel's says; nothing, if its process is gone."""
    try:
        return file.read_text()
    except OSError:
        return ""


def _send(pid: int, which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, which)


def _line(control: socket.socket) -> str | None:
    """The next line from the worker; None if it is gone."""
    said = b""
    while not said.endswith(b"\n"):
        try:
            more = control.recv(65536)
        except OSError:
            return None
        if not more:
            return None
        said += more
    return said.decode()


def _say(control: socket.socket, what: str) -> None:
    with contextlib.suppress(OSError):  # the worker may be gone, and nobody asks any more
        control.sendall(f"{what}\n".encode())


def _adopt_orphans() -> None:
    """Whoever loses its parent below us becomes our child."""
    _libc().prctl(_CHILD_SUBREAPER, 1)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)


if __name__ == "__main__":
    main()
    sys.exit(0)
