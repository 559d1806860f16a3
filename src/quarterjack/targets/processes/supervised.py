"""Starts programs under the supervisor process, follows their output, and stops them."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import termios
from collections.abc import Callable, Mapping, Sequence

from quarterjack.targets.processes import supervisor

CLOSE_SECONDS = 12
SUPERVISOR_SECONDS = 3
"""How much longer than the grace period a supervisor may take."""
DRAIN_SECONDS = 2
"""For output that was written before the last process ended."""
_PIPE_BYTES = 65536
"""At a time."""


class Supervisors:
    """Starts programs under supervisors, which are forked by one process of its own."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def start(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        on_output: Callable[[bytes], None],
        stdin: socket.socket | None = None,
    ) -> SupervisedProcess:
        """`on_output` is given what the program and its descendants write."""
        request = {
            "argv": argv,
            "environment": environment,
            "folder": os.getcwd(),  # noqa: PTH109
        }
        ours, theirs = socket.socketpair()
        output, output_write = os.pipe()
        try:
            try:
                passed = [theirs.fileno(), output_write]
                self._send(passed if stdin is None else [*passed, stdin.fileno()])
            finally:
                theirs.close()
                os.close(output_write)
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            os.close(output)
            raise
        writer.write(json.dumps(request).encode() + b"\n")
        return SupervisedProcess(reader, writer, output, on_output)

    def _send(self, descriptors: Sequence[int]) -> None:
        """To the process that forks supervisors: started on first use, and again after a crash."""
        for _ in range(2):
            if self._socket is None:
                self._socket, self._process = _start_supervisor()
            try:
                socket.send_fds(self._socket, [b"+"], descriptors)
            except OSError:
                self._socket.close()
                self._socket = None
            else:
                return
        raise OSError("the supervisor process ended at its start")

    async def close(self) -> None:
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._socket = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, CLOSE_SECONDS)


def _start_supervisor() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    if getattr(sys, "frozen", False) or not sys.executable:
        remedy = "install the program with Python, not as one file"
        raise OSError(f"there is no Python interpreter to start processes with; {remedy}")
    ours, theirs = socket.socketpair()
    with theirs, contextlib.ExitStack() as on_error:
        on_error.enter_context(ours)
        process = subprocess.Popen(  # noqa: S603
            # By its path, not with -m: importing this package would cost it time and memory.
            [sys.executable, "-P", supervisor.__file__],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C in a terminal reaches the worker alone
        )
        on_error.pop_all()
    return ours, process


class SupervisedProcess:
    """A running program, as seen from the worker."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        output: int,
        on_output: Callable[[bytes], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._output = output
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._drained = asyncio.Event()
        self._supervisor: int | None = None
        os.set_blocking(output, False)
        self._loop.add_reader(output, self._read_output)

    async def wait(self) -> str:
        """The status from the supervisor once no process is left; empty if it was killed."""
        line = await self._read_line()
        if line.startswith("under "):
            self._supervisor = int(line.removeprefix("under "))
            line = await self._read_line()
        if line:
            # No longer, because a process that could not be found or killed may hold it open.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._drained.wait()
        return line

    async def _read_line(self) -> str:
        """From the supervisor; empty if it is gone."""
        try:
            return (await self._reader.readline()).decode().strip()
        except OSError:
            return ""

    def request_stop(self, grace_seconds: float) -> None:
        """SIGTERM to all of its processes, and after the grace period SIGKILL."""
        self._writer.write(f"stop {grace_seconds}\n".encode())

    def kill_supervisor(self) -> None:
        """The program has stopped its own supervisor. Killing that kills the program, and what is
        left is killed by the process that forked it."""
        if self._supervisor is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._supervisor, signal.SIGKILL)

    async def stop(self, grace_seconds: float) -> None:
        """Returns when no process is left. Nobody else may be waiting."""
        self.request_stop(grace_seconds)
        try:
            async with asyncio.timeout(grace_seconds + SUPERVISOR_SECONDS):
                await self.wait()
        except TimeoutError:
            self.kill_supervisor()
            await self.wait()

    def drain(self) -> None:
        """Read all output that was written so far, and see its end as well; not until there is
        none, because a process that is left may write without end."""
        if self._drained.is_set():
            return
        waiting = fcntl.ioctl(self._output, termios.FIONREAD, bytes(4))
        for _ in range(int.from_bytes(waiting, sys.byteorder) // _PIPE_BYTES + 2):
            if not self._drained.is_set():
                self._read_output()

    def _read_output(self) -> None:
        try:
            data = os.read(self._output, _PIPE_BYTES)
        except BlockingIOError:
            return
        if data:
            self._on_output(data)
            return
        self._loop.remove_reader(self._output)
        self._drained.set()

    async def close(self) -> None:
        self._loop.remove_reader(self._output)
        os.close(self._output)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def end_of(status: str) -> tuple[str | None, int]:
    """Why a program could not be followed to its end, else its exit code (negative: by a
    signal)."""
    word, _, rest = status.partition(" ")
    if word == "refused":
        return f"cannot start {rest}", 0
    if word != "exited":
        return "the supervisor process was killed", 0
    return None, int(rest)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
