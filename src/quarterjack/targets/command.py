"""`command`: a program with its arguments, without a shell, in a session and an environment of its
own. It ends with its worker, and so does everything it has started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.input_checks import check_json
from quarterjack.rules.definition.target import TargetField, TargetKind
from quarterjack.targets import supervisor
from quarterjack.targets.call import Answer, Call

CLOSE_SECONDS = 12
SUPERVISOR_SECONDS = 3
"""How much longer than the grace period a supervisor may take."""
GRACE_SECONDS = 5
"""Between SIGTERM and SIGKILL."""
PAYLOAD_MAX = 131_000
"""Bytes. A command gets its payload in one environment variable; Linux allows 128 KiB."""
_EXAMPLE = "command: [pg_dump, app]"
_PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")


def _check_argv(value: list[object], name: str) -> list[str]:
    if not all(isinstance(part, str) for part in value):
        remedy = f"write it as in {_EXAMPLE}"
        raise InvalidSpecification.because(name, value, "is not a list of text", remedy)
    return check_json(value, name)  # type: ignore[no-any-return]


KIND = TargetKind(
    "command", _EXAMPLE, {"command": TargetField(list, _check_argv)}, payload_max=PAYLOAD_MAX
)


class CommandTarget:
    """Runs commands under supervisors, which are forked by one process of its own."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def act(self, call: Call) -> Answer:
        command = await self._start(call)
        try:
            status = await command.wait()
        except asyncio.CancelledError:
            # Shielded: a cancelled attempt may end only after its command has ended.
            await asyncio.shield(command.stop())
            raise
        finally:
            await command.close()
        return _answer(status)

    async def close(self) -> None:
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._socket = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, CLOSE_SECONDS)

    async def _start(self, call: Call) -> _Command:
        passed = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        request = {
            "argv": call.fields["command"],
            "environment": passed | call.environment(),
            "folder": os.getcwd(),  # noqa: PTH109
        }
        ours, theirs = socket.socketpair()
        output, output_write = os.pipe()
        try:
            try:
                self._send(theirs.fileno(), output_write)
            finally:
                theirs.close()
                os.close(output_write)
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            os.close(output)
            raise
        writer.write(json.dumps(request).encode() + b"\n")
        return _Command(reader, writer, output, call)

    def _send(self, control: int, output: int) -> None:
        """To the process that forks supervisors: started on first use, and again after a crash."""
        for _ in range(2):
            if self._socket is None:
                self._socket, self._process = _start_supervisor()
            try:
                socket.send_fds(self._socket, [b"+"], [control, output])
            except OSError:
                self._socket.close()
                self._socket = None
            else:
                return
        raise OSError("the supervisor process ended at its start")


def _start_supervisor() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603
            # By its path, not with -m: importing this package would cost it time and memory.
            [sys.executable, "-P", supervisor.__file__],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C in a terminal reaches the worker alone
        )
    return ours, process


class _Command:
    """A running command, as seen from the worker."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, output: int, call: Call
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._output = output
        self._write = call.write
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
            await self._drained.wait()
        return line

    async def _read_line(self) -> str:
        """From the supervisor; empty if it is gone."""
        try:
            return (await self._reader.readline()).decode().strip()
        except OSError:
            return ""

    async def stop(self) -> None:
        self._writer.write(f"stop {GRACE_SECONDS}\n".encode())
        try:
            async with asyncio.timeout(GRACE_SECONDS + SUPERVISOR_SECONDS):
                await self.wait()
        except TimeoutError:
            # The command has stopped its own supervisor. Killing that kills the command, and what
            # is left is killed by the process that forked it.
            if self._supervisor is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._supervisor, signal.SIGKILL)
            await self.wait()

    def _read_output(self) -> None:
        try:
            data = os.read(self._output, 65536)
        except BlockingIOError:
            return
        if data:
            self._write(data)
        else:
            self._loop.remove_reader(self._output)
            self._drained.set()

    async def close(self) -> None:
        self._loop.remove_reader(self._output)
        os.close(self._output)
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


def _answer(status: str) -> Answer:
    word, _, rest = status.partition(" ")
    if word == "refused":
        return Answer(f"cannot start {rest}")
    if word != "exited":
        return Answer("the supervisor process was killed")
    code = int(rest)
    if code < 0:
        return Answer(f"killed by {_signal_name(-code)}")
    return Answer(f"exit code {code}" if code else None)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
