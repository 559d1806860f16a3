"""Background: what a node must go on doing while a task blocks its event loop. Leases are renewed
there, heartbeats sent, and what blocks the loop is named in the log.

Background, BackgroundThread    steps processes on an event loop of its own
LoopWatch                       notices that the node's event loop does not answer
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import sysconfig
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Protocol, TypeAlias

from quarterjack.engine.clock_watch import Clock
from quarterjack.engine.executor import RunningAttempt
from quarterjack.engine.loop import Loop, Process, wakes_by
from quarterjack.store.store import Store
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

Attempts: TypeAlias = Sequence[RunningAttempt]

INTERVAL = SECOND
STALLED_MIN = SECOND
REPORTED_AFTER = SECOND
"""Of code that is not ours; it is reported again each time it has lasted four times as long."""
OWN_REPORTED_AFTER = 5 * SECOND
"""A large step of the engine, or a slow start, is no fault of a task."""
_FACTOR = 4
_LIBRARIES = (
    str(Path(__file__).parent.parent),
    *{sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")},
    "<frozen",
)
"""Files of Python, of packages and of Quarterjack; everything else is the user's."""


class Background(Protocol):
    """Steps processes beside the event loop of the node, and knows how that is."""

    def loop(self, process: Process, store: Store, poll_interval: int) -> Loop:
        """A loop that may be hinted from the node's event loop."""
        ...

    def call(self, callback: Callable[..., object], *args: Any) -> None:
        """On the node's event loop, as soon as that answers."""
        ...

    def stalled_for(self) -> int:
        """How long the node's event loop has not answered; 0 if it answers."""
        ...

    async def run(self, loops: Sequence[Loop], watch: Coroutine[Any, Any, None]) -> None:
        """Run these until cancelled, or until a loop fails, which raises its error. Awaited on the
        node's event loop."""
        ...


class BackgroundLoop(Loop):
    def __init__(
        self, thread: BackgroundThread, process: Process, store: Store, poll_interval: int
    ) -> None:
        super().__init__(process, store, poll_interval)
        self._thread = thread

    def hint(self, by: int | None = None) -> None:
        # Nearly all hints end here, without a call to the other thread. An old value of `wake` does
        # no harm: whoever hints has written before what the next step reads.
        if not wakes_by(self.wake, by):
            self._thread.call_there(self.hinted.set)


class BackgroundThread:
    """An event loop in a thread of its own. It alone uses `store`, and closes it at its end unless
    it is that of the node."""

    def __init__(
        self, clock: Clock, store: Store, node_store: Store, held: Callable[[], Attempts]
    ) -> None:
        self._store = store
        self._closes_store = store is not node_store
        self._watch = LoopWatch(clock, held, self.call)
        self._node_loop = asyncio.get_running_loop()
        self._own_loop: asyncio.AbstractEventLoop | None = None
        """From the start of the thread to its end."""

    def loop(self, process: Process, store: Store, poll_interval: int) -> Loop:
        return BackgroundLoop(self, process, store, poll_interval)

    def call(self, callback: Callable[..., object], *args: Any) -> None:
        with contextlib.suppress(RuntimeError):  # it is closed
            self._node_loop.call_soon_threadsafe(callback, *args)

    def call_there(self, callback: Callable[[], object]) -> None:
        """On the event loop of the thread, whose processes step when it starts."""
        if (own_loop := self._own_loop) is not None:
            with contextlib.suppress(RuntimeError):  # it is closed
                own_loop.call_soon_threadsafe(callback)

    def stalled_for(self) -> int:
        return self._watch.stalled_for()

    async def run(self, loops: Sequence[Loop], watch: Coroutine[Any, Any, None]) -> None:
        self._own_loop = asyncio.new_event_loop()
        stopping, ended = asyncio.Event(), Future[None]()
        work = self._run_until(stopping, loops, watch)
        thread = threading.Thread(
            target=self._work, args=(work, ended), name="quarterjack-leases", daemon=True
        )
        thread.start()
        waiting = asyncio.wrap_future(ended)
        try:
            await asyncio.wait([waiting])
        finally:
            self.call_there(stopping.set)
            await asyncio.wait([waiting])
            thread.join()
        waiting.result()

    def _work(self, work: Coroutine[Any, Any, None], ended: Future[None]) -> None:
        own_loop = self._own_loop
        assert own_loop is not None
        try:
            with asyncio.Runner(loop_factory=lambda: own_loop) as runner:
                runner.run(work)
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    async def _run_until(
        self, stopping: asyncio.Event, loops: Sequence[Loop], watch: Coroutine[Any, Any, None]
    ) -> None:
        all_loops = [*loops, Loop(self._watch, self._store, INTERVAL)]
        tasks = [asyncio.create_task(loop.run()) for loop in all_loops]
        tasks.append(asyncio.create_task(watch))
        stopped = asyncio.create_task(stopping.wait())
        await asyncio.wait([stopped, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in (stopped, *tasks):
            task.cancel()
        ends = await asyncio.gather(stopped, *tasks, return_exceptions=True)
        if self._closes_store:
            await self._store.close()
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
                raise end


class Blocker(NamedTuple):
    """What the event loop executes while it does not answer."""

    attempt: RunningAttempt | None
    place: str | None
    """File and line."""
    is_users: bool


class LoopWatch:
    """It steps in another thread. If that was late as well, the whole process was suspended, or
    somebody held the interpreter lock; neither is reported."""

    name = "loop watch"

    def __init__(
        self,
        clock: Clock,
        held: Callable[[], Attempts],
        call: Callable[[Callable[[], None]], None],
    ) -> None:
        """Watches the running event loop; `call` calls a function there, from any thread."""
        self._clock = clock
        self._held = held
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._asked_at: int | None = None
        """When the question was asked that is not answered yet. The event loop resets it."""
        self._stepped_at = 0
        self._report_at = 0
        self._reported: dict[str, Any] = {}
        """What the log said of the present block; empty if nothing."""

    def stalled_for(self) -> int:
        """How long the event loop has not answered; 0 if it answers."""
        asked_at = self._asked_at
        waited = 0 if asked_at is None else self._clock.monotonic() - asked_at
        return waited if waited >= STALLED_MIN else 0

    async def step(self, now: int) -> int:
        at, asked_at = self._clock.monotonic(), self._asked_at
        was_late = at - self._stepped_at > 2 * INTERVAL
        self._stepped_at = at
        if asked_at is None:
            self._asked_at, self._report_at, self._reported = at, 0, {}
            self._call(self._answer)
        elif was_late and not self._reported:
            self._asked_at = at
        else:
            self._report(at - asked_at)
        return now + INTERVAL

    def _answer(self) -> None:
        """Called on the event loop."""
        asked_at, self._asked_at = self._asked_at, None
        if asked_at is not None and self._reported:
            waited = self._clock.monotonic() - asked_at
            facts = log_fields(**{**self._reported, "blocked": _seconds(waited)})
            log.warning("event loop answers again %s", facts)

    def _report(self, waited: int) -> None:
        if waited < max(self._report_at, REPORTED_AFTER):
            return
        attempt, place, is_users = self._blocker()
        if not is_users and waited < OWN_REPORTED_AFTER:
            return
        self._report_at = _FACTOR * waited
        self._reported = _facts(attempt, place, waited)
        log.warning(
            "event loop blocked%s %s", _advice(attempt, is_users), log_fields(**self._reported)
        )

    def _blocker(self) -> Blocker:
        task = asyncio.current_task(self._loop)
        attempt = next((each for each in self._held() if each.task is task), None)
        frames = list(_frames(sys._current_frames().get(self._thread)))
        users = [frame for frame in frames if _is_users(frame)]
        place = None
        for frame in (users or frames)[:1]:
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return Blocker(attempt, place, task is not None and bool(attempt or users))


def _frames(innermost: FrameType | None) -> Iterator[FrameType]:
    """From the innermost out to the callback that the event loop has called."""
    frame = innermost
    while frame is not None:
        if frame.f_code.co_name == "_run" and frame.f_code.co_filename == asyncio.events.__file__:
            return
        yield frame
        frame = frame.f_back


def _is_users(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(_LIBRARIES)


def _facts(attempt: RunningAttempt | None, place: str | None, waited: int) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if attempt is not None:
        task = attempt.claim.specification.target.fields.get("task")
        facts = {"run": attempt.run.id, "schedule": attempt.claim.key, "task": task}
    return {**facts, "at": place, "blocked": _seconds(waited)}


def _seconds(duration: int) -> str:
    return f"{duration / SECOND:.1f}s"


def _advice(attempt: RunningAttempt | None, is_users: bool) -> str:
    if attempt is not None:
        return "; make it a sync task (def), or await instead of blocking"
    return "; await instead of blocking" if is_users else ""
