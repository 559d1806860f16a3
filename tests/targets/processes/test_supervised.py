"""Programs under supervisors, as a worker starts, follows and stops them. What becomes of children
when processes are killed is shown in tests/crash/test_descendants.py."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable

import pytest

from quarterjack.targets.processes.supervised import (
    SupervisedProcess,
    Supervisors,
    end_of,
    signal_name,
)

SECONDS = 30
Use = Callable[[Supervisors], Awaitable[None]]


def use(supervisors: Use) -> None:
    async def run() -> None:
        made = Supervisors()
        try:
            await asyncio.wait_for(supervisors(made), SECONDS)
        finally:
            await made.close()

    asyncio.run(run())


async def ended(process: SupervisedProcess) -> str:
    status = await process.wait()
    await process.close()
    return status


def python(script: str) -> list[str]:
    return [sys.executable, "-S", "-E", "-c", script]


def test_its_output_is_complete_when_it_has_ended():
    out: list[bytes] = []

    async def run(supervisors: Supervisors) -> None:
        script = "import os; os.write(1, b'x' * 10**6); os.write(2, b'end')"
        process = await supervisors.start(python(script), {}, out.append)
        assert await ended(process) == "exited 0"

    use(run)
    assert b"".join(out) == b"x" * 10**6 + b"end"


def test_it_may_be_given_a_socket_as_its_standard_input():
    """How a task process is connected with its worker."""
    ours, theirs = socket.socketpair()

    async def run(supervisors: Supervisors) -> None:
        script = "import socket; s = socket.socket(fileno=0); s.sendall(s.recv(99).upper())"
        process = await supervisors.start(python(script), {}, lambda data: None, theirs)
        theirs.close()
        ours.sendall(b"hello")
        assert await ended(process) == "exited 0"
        assert ours.recv(99) == b"HELLO"
        assert ours.recv(99) == b"", "no other process holds the other end"

    use(run)
    ours.close()


@pytest.mark.parametrize(
    ("widen", "count"), [("", 20_000), ("import fcntl; fcntl.fcntl(1, 1031, 1 << 20);", 900_000)]
)
@pytest.mark.skipif(sys.platform != "linux", reason="other pipes cannot be made wider")
def test_output_that_was_written_so_far_can_be_read_at_once(widen: str, count: int):
    """A task, or a kernel with large pages, makes pipes that hold more than 64 KiB."""
    ours, theirs = socket.socketpair()
    out: list[bytes] = []

    async def run(supervisors: Supervisors) -> None:
        script = (
            f"{widen}import os, socket; s = socket.socket(fileno=0); os.write(1, b'x' * {count});"
            "s.sendall(b'!'); s.recv(1)"
        )
        process = await supervisors.start(python(script), {}, out.append, theirs)
        theirs.close()
        ours.settimeout(SECONDS)
        assert ours.recv(1) == b"!"  # the loop could not read meanwhile
        process.drain()
        assert len(b"".join(out)) == count
        ours.sendall(b"!")
        await ended(process)

    use(run)
    ours.close()


def test_a_program_that_cannot_be_started_is_refused_with_the_reason():
    async def run(supervisors: Supervisors) -> None:
        process = await supervisors.start(["no-such-program"], {}, lambda data: None)
        assert await ended(process) == "refused no-such-program: No such file or directory"

    use(run)


@pytest.mark.fault("F15")
def test_another_supervisor_process_is_started_after_the_first_was_killed():
    async def run(supervisors: Supervisors) -> None:
        await ended(await supervisors.start(["true"], dict(os.environ), lambda data: None))
        assert supervisors._process is not None
        supervisors._process.kill()
        supervisors._process.wait(10)
        process = await supervisors.start(["true"], dict(os.environ), lambda data: None)
        assert await ended(process) == "exited 0"

    use(run)


def test_nothing_is_left_open_when_no_supervisor_can_be_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.executable", "/no/such/python")

    async def run(supervisors: Supervisors) -> None:
        with pytest.raises(FileNotFoundError):
            await supervisors.start(["true"], {}, lambda data: None)

    use(run)


def test_the_end_of_a_program_is_its_exit_code_or_why_it_could_not_be_followed():
    assert end_of("exited -11") == (None, -11)
    assert end_of("refused x: Permission denied") == ("cannot start x: Permission denied", 0)
    assert end_of("") == ("the supervisor process was killed", 0)
    assert (signal_name(11), signal_name(40)) == ("SIGSEGV", "signal 40")


def test_reading_what_was_written_ends_also_while_a_program_writes_without_end():
    out: list[bytes] = []

    def take(data: bytes) -> None:
        assert len(out) < 1000
        out.append(data)

    async def run(supervisors: Supervisors) -> None:
        process = await supervisors.start(["yes"], dict(os.environ), take)
        while not out:
            await asyncio.sleep(0.01)
        process.drain()
        await process.stop(0)
        await process.close()

    use(run)


def test_a_signal_that_python_ignores_ends_a_program():
    """Else a pipeline goes on although nobody reads it."""

    async def run(supervisors: Supervisors) -> None:
        command = ["sh", "-c", "kill -PIPE $$"]
        process = await supervisors.start(command, dict(os.environ), lambda data: None)
        assert await ended(process) == "exited -13"

    use(run)
