"""Warm processes for sync tasks: started on demand, used again, and replaced when one has ended or
is used up."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from quarterjack.targets.call import Answer, Call
from quarterjack.targets.processes.importing import Program
from quarterjack.targets.processes.pooled_process import Job, PooledProcess
from quarterjack.targets.processes.supervised import Supervisors
from quarterjack.telemetry.logs import log, log_fields

IDLE_SECONDS = 60
"""A process that was not needed for so long is ended, but for one."""
RESTART_SECONDS = 5
"""After a process could not be started, while others work."""
_AHEAD = 64
"""So many jobs a process may hold, so that after a short task it need not wait for the worker."""
_AHEAD_SECONDS = 0.01
"""If a task takes longer, the jobs behind it are taken back."""
_TRIES = 100
_STOPPING = "the worker stops"
_STARTING_MAX = os.cpu_count() or 2
"""At once: an import takes the processor."""


class ProcessPool:
    """At most `size` processes that import the same program."""

    def __init__(self, supervisors: Supervisors, program: Program, size: int) -> None:
        self._supervisors = supervisors
        self._program = program
        self._size = size
        self._jobs: deque[Job] = deque()
        """Those that no process was given."""
        self._idle: list[PooledProcess] = []
        """The one used last is used next."""
        self._busy: set[PooledProcess] = set()
        self._starting = 0
        self._is_dispatching = False
        self._starts: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._ahead_timer: asyncio.TimerHandle | None = None
        self._restart_timer: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def call(
        self,
        function: tuple[str, str],
        call: Call,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] = {},
    ) -> Answer:
        """Call a function, by its kind and name. When this is cancelled, it returns only after
        nothing of the call runs any more."""
        request = json.dumps([*function, args, kwargs, call[:-3]]).encode() + b"\n"
        job = Job(request, call)
        self._jobs.append(job)
        self._dispatch_soon()
        try:
            return await job.answer
        except asyncio.CancelledError:
            if job.answer.cancelled():  # else it has just ended
                await _complete(self._withdraw(job))
            raise

    def warm_up(self) -> None:
        """Start one, so that the first call need not wait, and problems of importing show soon."""
        self._start_one()

    async def close(self) -> None:
        """Only when no call runs."""
        self._is_closed = True
        for timer in (self._idle_timer, self._ahead_timer, self._restart_timer):
            if timer is not None:
                timer.cancel()
        for process in list(self._idle):
            self._end(process, _STOPPING)
        for start in self._starts:
            start.cancel()
        while under_way := self._ending | self._starts:
            await asyncio.wait(under_way)

    async def _withdraw(self, job: Job) -> None:
        process = job.process
        if process is None:
            with suppress(ValueError):  # it was taken back just now
                self._jobs.remove(job)
            return
        back, tries = process.take_back(), _TRIES
        while tries and job in process.jobs and not process.has_begun(job):
            await asyncio.sleep(0.001)  # another one begins in this moment
            back, tries = process.take_back(), tries - 1
        if job in process.jobs:
            self._put_back(back)
            await process.cancel(job)
        else:  # taken back, or it has just ended
            self._on_free(process, [each for each in back if each is not job])

    def _dispatch_soon(self) -> None:
        """Once for all jobs that come together."""
        if not self._is_dispatching:
            self._is_dispatching = True
            asyncio.get_running_loop().call_soon(self._dispatch)

    def _dispatch(self) -> None:
        self._is_dispatching = False
        while self._jobs and self._idle:
            process = self._idle.pop()
            self._busy.add(process)
            process.give([self._jobs.popleft()])
        if self._jobs:
            self._give_ahead()
        for _ in range(len(self._jobs) - self._starting):
            self._start_one()
        if self._idle and (fullest := max(self._busy, key=_held, default=None)):
            self._put_back(fullest.take_back_ahead())

    def _give_ahead(self) -> None:
        """To processes that have not been slow so far."""
        quick = [each for each in self._busy if not each.is_slow and each.ends is None]
        share = -(-len(self._jobs) // max(len(quick), 1))
        for process in quick:
            count = min(_AHEAD - len(process.jobs), share, len(self._jobs))
            if count > 0:
                process.give([self._jobs.popleft() for _ in range(count)])
        if quick and self._ahead_timer is None:
            self._set_ahead_timer()

    def _set_ahead_timer(self) -> None:
        for process in self._busy:
            process.is_slow = True  # unless it answers until then
        loop = asyncio.get_running_loop()
        self._ahead_timer = loop.call_later(_AHEAD_SECONDS, self._look)

    def _look(self) -> None:
        """Take back what lies behind long tasks, and let another process help with many short
        ones."""
        self._ahead_timer = None
        ahead = [each for each in self._busy if len(each.jobs) > 1]
        for process in ahead:
            if process.is_slow:
                self._put_back(process.take_back_ahead())
        if ahead:
            self._start_one()
            self._set_ahead_timer()

    def _put_back(self, jobs: Sequence[Job]) -> None:
        for job in reversed(jobs):
            job.process = None
            if not job.answer.done():
                self._jobs.appendleft(job)
        if jobs:
            self._dispatch_soon()

    def _fail_all(self, reason: str) -> None:
        jobs, self._jobs = self._jobs, deque()
        for job in jobs:
            if not job.answer.done():
                job.answer.set_result(Answer(reason))

    def _allow_starts(self) -> None:
        self._restart_timer = None
        self._dispatch_soon()

    def _start_one(self) -> None:
        """Unless there are enough."""
        count = len(self._idle) + len(self._busy) + self._starting
        is_enough = count >= self._size or self._starting >= _STARTING_MAX
        if is_enough or self._restart_timer is not None:
            return
        self._starting += 1
        start = asyncio.create_task(self._start())
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)

    async def _start(self) -> None:
        try:
            process = PooledProcess(self._program, self._on_free)
            await process.start(self._supervisors)
        except Exception as error:
            reason = str(error)
            log.error("task process cannot start %s", log_fields(error=reason))
            if self._idle or self._busy:  # those that work do it, and this is tried again later
                loop = asyncio.get_running_loop()
                self._restart_timer = loop.call_later(RESTART_SECONDS, self._allow_starts)
            else:
                self._fail_all(reason)
        else:
            log.info("task process started %s", log_fields(pid=process.pid))
            self._idle.append(process)
            if self._is_closed:  # at the moment in which it was ready
                self._end(process, _STOPPING)
        finally:
            self._starting -= 1
            self._dispatch_soon()

    def _on_free(self, process: PooledProcess, back: Sequence[Job]) -> None:
        """It has answered, or ended."""
        self._put_back(back)
        if process.ends is not None:
            self._end(process, process.ends)
        elif not process.jobs and process in self._busy and not self._is_closed:
            self._busy.discard(process)
            self._idle.append(process)
            if self._idle_timer is None:
                self._set_idle_timer()
        if self._jobs or self._idle:
            self._dispatch_soon()

    def _end(self, process: PooledProcess, reason: str) -> None:
        if process in self._busy or process in self._idle:
            log.info("task process ends %s", log_fields(pid=process.pid, reason=reason))
            self._busy.discard(process)
            if process in self._idle:
                self._idle.remove(process)
            self._keep(asyncio.create_task(process.end()))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _set_idle_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._idle_timer = loop.call_later(IDLE_SECONDS, self._end_unused)

    def _end_unused(self) -> None:
        unused = [each for each in self._idle if not each.was_used]
        for process in unused[: len(self._idle) - 1]:
            self._end(process, "it was not needed")
        for process in self._idle:
            process.was_used = False
        self._idle_timer = None
        if len(self._idle) > 1:
            self._set_idle_timer()


def _held(process: PooledProcess) -> int:
    return len(process.jobs)


async def _complete(work: Coroutine[Any, Any, None]) -> None:
    """Also if the caller is cancelled again: an attempt may end only after its task has ended."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
