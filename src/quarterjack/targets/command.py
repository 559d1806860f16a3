"""`command`: a program with its arguments, no shell, in a session and an environment of its own.
It ends with its worker, and with it everything that it has started."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

from quarterjack.targets import supervising
from quarterjack.targets.call import Answer, Call

CLOSING_SECONDS = 12
SUPERVISOR_SECONDS = 3
"""How much longer a supervisor may take than what it was asked for."""
GRACE_SECONDS = 5
"""Between asking a command to end and killing it."""
_HANDED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")


class CommandTarget:
    """Runs commands under supervisors that one process of its own forks."""

    def __init__(self) -> None:
        self._door: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    async def act(self, call: Call) -> Answer:
        command = await self._start(call)
        try:
            said = await command.ended()
        except asyncio.CancelledError:
            # Nothing may interrupt this: whoever waits for us wants the command to be gone.
            await asyncio.shield(command.stopped())
            raise
        finally:
            await command.close()
        return _answer(said)

    async def close(self) -> None:
        if self._door is not None and self._process is not None:
            self._door.close()
            self._door = None
            with contextlib.suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._process.wait, CLOSING_SECONDS)

    async def _start(self, call: Call) -> _Command:
        environment = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
        wanted = {
            "argv": call.fields["command"],
            "environment": environment | call.environment(),
            "folder": os.getcwd(),  # noqa: PTH109
        }
        ours, theirs = socket.socketpair()
        output, written = os.pipe()
        try:
            self._send(theirs.fileno(), written)
        except BaseException:
            ours.close()
            os.close(output)
            raise
        finally:
            theirs.close()
            os.close(written)
        try:
            reader, writer = await asyncio.open_connection(sock=ours)
        except BaseException:
            ours.close()
            os.close(output)
            raise
        command = _Command(reader, writer, output, call)
        writer.write(json.dumps(wanted).encode() + b"\n")
        return command

    def _send(self, control: int, output: int) -> None:
        """To the process that forks; started when first needed, and again if it was killed."""
        for _ in range(2):
            if self._door is None:
                self._door, self._process = _started()
            try:
                socket.send_fds(self._door, [b"+"], [control, output])
            except OSError:
                self._door.close()
                self._door = None
            else:
                return
        raise OSError("no supervising process could be started")


def _started() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", supervising.__name__],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # so that Ctrl-C in a terminal reaches the worker alone
        )
    return ours, process


class _Command:
    """A command that runs, seen from the worker."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        output: int,
        call: Call,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._output = output
        self._write = call.write
        self._loop = asyncio.get_running_loop()
        self._drained = asyncio.Event()
        self._supervisor: int | None = None
        os.set_blocking(output, False)
        self._loop.add_reader(output, self._read)

    async def ended(self) -> str:
        """What the supervisor says when nothing is left, or nothing if it was killed."""
        said = await self._heard()
        if said.startswith("under "):
            self._supervisor = int(said.removeprefix("under "))
            said = await self._heard()
        if said:
            await self._drained.wait()
        return said

    async def _heard(self) -> str:
        """The next line from the supervisor; nothing, if it is gone."""
        try:
            return (await self._reader.readline()).decode().strip()
        except OSError:
            return ""

    async def stopped(self) -> None:
        """Ended by us: asked to, and killed if it does not."""
        self._writer.write(f"stop {GRACE_SECONDS}\n".encode())
        try:
            async with asyncio.timeout(GRACE_SECONDS + SUPERVISOR_SECONDS):
                await self.ended()
        except TimeoutError:
            # The command has stopped its own supervisor. Killed, it takes the command with it, and
            # what is left falls to the process that forked it.
            if self._supervisor is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._supervisor, signal.SIGKILL)
            await self.ended()

    def _read(self) -> None:
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


def _answer(said: str) -> Answer:
    word, _, rest = said.partition(" ")
    if word == "refused":
        return Answer(f"it could not be started: {rest}")
    if word != "exited":
        return Answer("its supervising process was killed")
    code = int(rest)
    if code < 0:
        return Answer(f"killed by {_signal_name(-code)}")
    return Answer(f"exit code {code}" if code else None)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
