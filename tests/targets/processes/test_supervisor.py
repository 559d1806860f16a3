"""The supervisor as a program of its own, spoken to as a worker does. More of it is shown through
commands (tests/targets/test_command.py) and killed workers (tests/crash/test_descendants.py)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from harness.crash.kills import is_alive, wait_for
from quarterjack.targets.processes import supervisor

SECONDS = 20
LEAVES_ONE = "import os, time; p = os.fork(); p or time.sleep(60); print(p, flush=True)"


class Worker:
    """Its side of the connections."""

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        with theirs:
            argv = [sys.executable, "-P", supervisor.__file__]
            self.process = subprocess.Popen(argv, stdin=theirs.fileno())

    def start(self, *argv: str) -> tuple[socket.socket, int]:
        """The control connection, and where its output can be read."""
        ours, theirs = socket.socketpair()
        ours.settimeout(SECONDS)
        output, output_write = os.pipe()
        socket.send_fds(self.socket, [b"+"], [theirs.fileno(), output_write])
        theirs.close()
        os.close(output_write)
        request = {"argv": argv, "environment": dict(os.environ), "folder": "/"}
        ours.sendall(json.dumps(request).encode() + b"\n")
        return ours, output


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.socket.close()
    assert made.process.wait(SECONDS) == 0


def lines_of(control: socket.socket, output: int) -> list[str]:
    with control, control.makefile() as file:
        lines = file.read().splitlines()
    os.close(output)
    return lines


def test_it_names_itself_and_says_how_the_program_has_ended(worker: Worker):
    first, second = (lines_of(*worker.start("sh", "-c", f"exit {code}")) for code in (0, 3))

    assert [each[0].partition(" ")[0] for each in (first, second)] == ["under", "under"]
    assert first[0] != second[0], "each program has its own"
    assert [each[1:] for each in (first, second)] == [["exited 0"], ["exited 3"]]


def test_it_says_that_the_program_has_ended_only_when_its_children_are_gone(worker: Worker):
    control, output = worker.start(sys.executable, "-S", "-E", "-c", LEAVES_ONE)
    pid = int(os.read(output, 99))

    assert lines_of(control, output)[1:] == ["exited 0"]
    assert not is_alive(pid)


def test_the_end_of_the_control_connection_kills_the_program(worker: Worker):
    control, output = worker.start("sh", "-c", "echo $$; sleep 60")
    pid = int(os.read(output, 99))

    control.close()

    assert wait_for(lambda: not is_alive(pid), 5, "it is gone")
    os.close(output)


def test_a_request_to_stop_lets_it_end_by_itself(worker: Worker):
    script = "trap 'exit 7' TERM; echo ready; while true; do sleep 0.05; done"
    control, output = worker.start("sh", "-c", script)
    os.read(output, 99)

    control.sendall(b"stop 10\n")

    assert lines_of(control, output)[1:] == ["exited 7"]
