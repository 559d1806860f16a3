"""The supervising processes: no descendant of a command outlives it, whatever dies.

This file is a program of its own, with nothing but Python's library. A worker starts it once; for
each command it forks a supervisor, which is the subreaper of all that the command starts and ends
with it: whoever daemonizes inside falls to the supervisor, and is killed by it. The end of the
control socket means that the worker died, and then everything is killed at once. If a supervisor
itself is killed, its command dies with it, and what is left falls to the first process, which
kills it too. All of them being killed in the same instant is the one case without a remedy.

Control, one line each way: the worker sends the command as JSON and perhaps `stop SECONDS` later;
the supervisor answers `exited CODE` (negative: by a signal) or `refused REASON`.
"""

from __future__ import annotations

import contextlib
import ctypes
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
_PROC = Path("/proc")


def main() -> None:
    """The first process: it forks supervisors until its worker is gone and they are done."""
    door = socket.socket(fileno=0)
    _adopt_orphans()
    awake, wakes = os.pipe2(os.O_NONBLOCK)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    os.set_blocking(wakes, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    supervisors: set[int] = set()
    is_open = True
    while is_open or supervisors:
        doors: list[Any] = [awake, door] if is_open else [awake]
        ready, _, _ = select.select(doors, [], [])
        if awake in ready:
            os.read(awake, 4096)
            supervisors -= _reaped()
            _kill_strays(supervisors)
        if door in ready:
            knock, descriptors, _, _ = socket.recv_fds(door, 1, 2)
            is_open = bool(knock)
            if is_open:
                supervisors.add(_forked(door, awake, wakes, descriptors))


def _forked(door: socket.socket, awake: int, wakes: int, descriptors: list[int]) -> int:
    control, output = descriptors
    pid = os.fork()
    if pid:
        os.close(control)
        os.close(output)
        return pid
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        door.close()
        os.close(awake)
        os.close(wakes)
        _supervise(socket.socket(fileno=control), output)
        code = 0
    finally:
        os._exit(code)


def _supervise(control: socket.socket, output: int) -> None:
    """One command, from its start until nothing of it is left."""
    _adopt_orphans()
    request = _line(control)
    if request is None:
        return
    wanted = json.loads(request)
    refusal, pid = _start(wanted, control, output)
    os.close(output)
    if refusal:
        _say(control, f"refused {refusal}")
        return
    code = _watch(pid, control)
    _kill_descendants()
    _say(control, f"exited {code}")


def _start(wanted: Any, control: socket.socket, output: int) -> tuple[str, int]:
    """The command in a session of its own; or why it could not be started."""
    told, tell = os.pipe2(os.O_CLOEXEC)
    pid = os.fork()
    if not pid:
        try:
            os.setsid()
            _libc().prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
            control.close()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output, 1)
            os.dup2(output, 2)
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


def _watch(pid: int, control: socket.socket) -> int:
    """Until the command ends, or the worker wants it to, or the worker is gone."""
    ended = os.pidfd_open(pid)
    seconds: float | None = None
    doors: list[Any] = [ended, control]
    while True:
        ready, _, _ = select.select(doors, [], [], seconds)
        if ended in ready:
            break
        said = _line(control) if ready else None
        if said is None:  # the worker died, or its patience is at an end
            os.kill(pid, signal.SIGKILL)
            break
        seconds = float(said.partition(" ")[2])
        for each in _descendants(os.getpid()):
            _send(each, signal.SIGTERM)
    _, status = os.waitpid(pid, 0)
    os.close(ended)
    return os.waitstatus_to_exitcode(status)


def _kill_descendants() -> None:
    """Until none is left. Whoever loses its parent becomes our own child, and is found again."""
    while alive := _descendants(os.getpid()):
        for pid in alive:
            _send(pid, signal.SIGKILL)
        _reaped()
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
    """As the kernel lists them; where it does not, by asking every process for its parent."""
    listed = _PROC / str(pid) / "task" / str(pid) / "children"
    try:
        return {int(child) for child in listed.read_text().split()}
    except OSError:
        if not (_PROC / str(pid)).exists():
            return set()
    return {int(each.name) for each in _PROC.glob("[0-9]*") if _parent(each) == pid}


def _parent(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return None


def _send(pid: int, which: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
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
