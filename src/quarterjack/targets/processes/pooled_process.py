"""A task process, as seen from its worker: it is started, given calls, and ended.

It may be given calls before it has answered the last one, so that it need not wait for the worker.
Those that have not begun can be taken back at any time.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from quarterjack.targets.call import Answer, Call
from quarterjack.targets.processes import task_program
from quarterjack.targets.processes.importing import ImportFailed, Program
from quarterjack.targets.processes.leveled_lines import LeveledLines
from quarterjack.targets.processes.shared_state import SharedState
from quarterjack.targets.processes.supervised import (
    SUPERVISOR_SECONDS,
    SupervisedProcess,
    Supervisors,
    end_of,
    signal_name,
)

IMPORT_SECONDS = 300
COOPERATE_SECONDS, TERMINATE_SECONDS = 2, 3
"""A cancelled task may first end by itself, then because of SIGTERM; after that it is killed."""
FAREWELL_SECONDS = 5
"""For the hooks that end a process."""
_STARTUP_OUTPUT_MAX = 4000


class Job:
    """One call of a function, from its request to its answer."""

    __slots__ = ("answer", "call", "number", "process", "request")

    def __init__(self, request: bytes, call: Call) -> None:
        self.request = request
        self.call = call
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.process: PooledProcess | None = None
        """Has been given it."""
        self.number = 0
        """Among those of this process."""


class PooledProcess:
    def __init__(
        self, program: Program, on_free: Callable[[PooledProcess, Sequence[Job]], None]
    ) -> None:
        """`on_free` is called when it can take calls, or has ended, with those that it was given
        and has not begun."""
        self._program = program
        self._on_free = on_free
        self._loop = asyncio.get_running_loop()
        self._connection, self._theirs = socket.socketpair()
        self._connection.setblocking(False)  # noqa: FBT003
        self._received = b""
        self._unsent = b""
        self._lines = LeveledLines(self._write, self._begin_output)
        self._writing: Job | None = None
        self._state, self._state_path = SharedState.create()
        self._started: asyncio.Future[None] = self._loop.create_future()
        self._last_number = 0
        self._startup_output = b""
        self._supervised: SupervisedProcess
        self._watching: asyncio.Task[None]
        self.jobs: deque[Job] = deque()
        """Not answered yet; the first one has begun, or is about to."""
        self.pid = 0
        self.ends: str | None = None
        """Why it can take no other call."""
        self.was_used = True
        self.is_slow = False
        """It has answered nothing for a while."""

    async def start(self, supervisors: Supervisors) -> None:
        """Returns when it has imported the program."""
        try:
            await self._launch(supervisors)
        except OSError as error:
            raise ImportFailed(f"no task process can be started: {error}") from error
        try:
            async with asyncio.timeout(IMPORT_SECONDS):
                await self._started
        except BaseException as error:
            self._supervised.request_stop(0)
            await self._until_ended()
            if isinstance(error, TimeoutError):
                raise ImportFailed(self._import_never_ends()) from None
            raise
        finally:
            self._state_path.unlink(missing_ok=True)

    async def _launch(self, supervisors: Supervisors) -> None:
        argv = [sys.executable, "-P", task_program.__file__]
        try:
            self._supervised = await supervisors.start(
                argv, dict(os.environ), self._on_output, self._theirs
            )
        except BaseException:
            self._release()
            raise
        finally:
            self._theirs.close()
        self._watching = asyncio.create_task(self._watch())
        self._loop.add_reader(self._connection, self._on_message)
        start = {"program": self._program._asdict(), "state": str(self._state_path)}
        self._send(json.dumps(start).encode() + b"\n")

    def _release(self) -> None:
        self._loop.remove_reader(self._connection)
        self._loop.remove_writer(self._connection)
        self._connection.close()
        self._state.close()
        self._state_path.unlink(missing_ok=True)

    def _import_never_ends(self) -> str:
        name = self._program.script or self._program.modules[0]
        remedy = 'put what starts servers or waits under if __name__ == "__main__"'
        return f"the import of {name} took longer than {IMPORT_SECONDS} s; {remedy}"

    def give(self, jobs: Sequence[Job]) -> None:
        self.was_used = True
        lines = []
        for job in jobs:
            self._last_number += 1
            job.number, job.process = self._last_number, self
            deadline = job.call.control.deadline()
            lines.append(
                b"%d %d %b" % (job.number, -1 if deadline is None else deadline, job.request)
            )
        self.jobs += jobs
        self._send(b"".join(lines))

    def _send(self, data: bytes) -> None:
        if not self._unsent:
            try:
                data = data[self._connection.send(data) :]
            except BlockingIOError:
                pass
            except OSError:  # it has ended, which is noticed elsewhere
                return
            if data:
                self._loop.add_writer(self._connection, self._send_rest)
        self._unsent += data

    def _send_rest(self) -> None:
        data, self._unsent = self._unsent, b""
        self._loop.remove_writer(self._connection)
        self._send(data)

    def take_back(self) -> list[Job]:
        """The jobs that have not begun, and will not."""
        if not self.jobs or self._watching.done():
            return []
        begun = self._state.take_back(self._last_number)
        back = [job for job in self.jobs if job.number > begun]
        self.jobs = deque(job for job in self.jobs if job.number <= begun)
        return back

    def has_begun(self, job: Job) -> bool:
        return self._state.begun >= job.number

    def take_back_ahead(self) -> list[Job]:
        """The same, if one has begun: it keeps what it works on, or is about to."""
        has_begun = len(self.jobs) > 1 and self._state.begun >= self.jobs[0].number
        return self.take_back() if has_begun else []

    async def cancel(self, job: Job) -> None:
        """Returns when nothing of it runs any more."""
        if job not in self.jobs:  # it has just ended
            return
        job.answer = self._loop.create_future()
        self.is_slow = True  # it is given nothing ahead
        self._state.cancel(job.number)
        ends: list[asyncio.Future[Any]] = [job.answer, self._watching]
        await asyncio.wait(ends, timeout=COOPERATE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not job.answer.done():
            self.ends = "its task was cancelled"
            self._supervised.request_stop(TERMINATE_SECONDS)
            await self._until_ended()

    async def end(self) -> None:
        """Returns when no process of it is left."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_WR)
        await asyncio.wait([self._watching], timeout=FAREWELL_SECONDS)
        if not self._watching.done():
            self._supervised.request_stop(TERMINATE_SECONDS)
            await self._until_ended()

    async def _until_ended(self) -> None:
        await asyncio.wait([self._watching], timeout=TERMINATE_SECONDS + SUPERVISOR_SECONDS)
        if not self._watching.done():
            self._supervised.kill_supervisor()
        await self._watching

    async def _watch(self) -> None:
        """Until it has ended, with everything that it started."""
        status = await self._supervised.wait()
        self._on_message()
        self._lines.flush()
        begun = self._state.begun
        reason = _reason(status)
        self.ends = self.ends or reason
        if not self._started.done():
            output = self._startup_output.decode(errors="replace").strip()
            last = f" ({output.splitlines()[-1]})" if output else ""
            self._started.set_exception(
                ImportFailed(f"the task process ended at its start: {reason}{last}")
            )
        jobs, self.jobs = list(self.jobs), deque()
        for job in jobs:
            if job.number <= begun:
                _answer(job, Answer(f"the process of the task ended: {reason}"))
        self._on_free(self, [job for job in jobs if job.number > begun])
        self._release()
        await self._supervised.close()

    def _on_output(self, data: bytes) -> None:
        if self._started.done():
            self._lines.feed(data)
        else:
            self._startup_output = (self._startup_output + data)[-_STARTUP_OUTPUT_MAX:]

    def _begin_output(self, number: int) -> None:
        self._writing = next((job for job in self.jobs if job.number == number), None)

    def _write(self, data: bytes, level: int = 0, /) -> None:
        if self._writing is not None and not self._writing.answer.done():
            self._writing.call.write(data, level)

    def _on_message(self) -> None:
        answers: list[Mapping[str, Any]] = []
        while True:
            try:
                data = self._connection.recv(65536)
            except OSError:  # nothing more at the moment, or it is gone
                break
            if not data:
                self._loop.remove_reader(self._connection)
                break
            *lines, self._received = (self._received + data).split(b"\n")
            for message in filter(None, map(_message, lines)):
                if "answer" in message:
                    answers.append(message)
                else:
                    self._handle(message)
            if len(data) < 65536:
                break
        if answers:
            self._finish(answers)

    def _finish(self, answers: Sequence[Mapping[str, Any]]) -> None:
        self._supervised.drain()  # what their tasks have written
        for message in answers:
            self.is_slow = False
            self.ends = self.ends or message["ends"]
            _answer(self.jobs.popleft(), Answer(*message["answer"]))
        # If its worker wants to end it, it does not know that, and may have begun the next one.
        self._on_free(self, [] if self.ends is None else self.take_back())

    def _handle(self, message: Mapping[str, Any]) -> None:
        if self._started.done():
            pass
        elif "ready" in message:
            self.pid = message["ready"]
            self._started.set_result(None)
        elif "failed" in message:
            self._started.set_exception(ImportFailed(message["failed"]))
        for job in [job for job in self.jobs if job.number == message.get("number")]:
            if "progress" in message:
                job.call.control.report(*message["progress"])
            else:
                job.call.control.extend(message["extend"])
                self._state.deadline = job.call.control.deadline()


def _message(line: bytes) -> Mapping[str, Any] | None:
    try:
        return json.loads(line)  # type: ignore[no-any-return]
    except ValueError:  # empty, or SIGTERM has interrupted a task that was sending it
        return None


def _answer(job: Job, answer: Answer) -> None:
    if not job.answer.done():
        job.answer.set_result(answer)


def _reason(status: str) -> str:
    """Why a process ended that should have answered, and what to do."""
    problem, code = end_of(status)
    if problem is not None:
        return problem
    if code == -9:
        return "killed by SIGKILL; perhaps memory was used up: use less at a time, or more memory"
    if code < 0:
        return f"killed by {signal_name(-code)}; a library in C may be the cause"
    return f"exit code {code}; a task must return or raise, not end its process"
