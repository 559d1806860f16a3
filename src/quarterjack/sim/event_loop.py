"""An asyncio event loop with simulated time, which advances only when nothing is left to do.

Everything runs on behalf of an actor: a node, or the users. An actor can be paused, as by SIGSTOP:
its callbacks wait until it is resumed. It can be blocked, as by a task: the same, but what it does
in the background goes on. It can be killed, as by SIGKILL: none of its code runs again, not even
`finally` blocks.
"""

from __future__ import annotations

import asyncio
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Any, TypeVar, cast

from quarterjack.times.instants import SECOND

T = TypeVar("T")
Callback = Callable[..., Any]


class Actor:
    """What is paused, resumed and killed as a whole."""

    def __init__(self, name: str, background: Actor | None = None) -> None:
        self.name = name
        self.background = background
        """A part of it that can run while it is blocked."""
        self.is_stopped = self.is_blocked = self.is_paused = False
        """It is paused while it is stopped, blocked, or both."""
        self.paused_at = self.resumed_at = -1
        self.is_killed = False
        self.deferred: list[Handle] = []
        """Callbacks that came due while it was paused. Those of a killed actor stay referenced:
        garbage collection would run the `finally` blocks of its coroutines."""

    @property
    def parts(self) -> list[Actor]:
        return [self] if self.background is None else [self, self.background]


_actor: ContextVar[Actor | None] = ContextVar("actor", default=None)


@dataclass(slots=True, eq=False)
class Handle:
    """A scheduled callback, as asyncio's Handle and TimerHandle."""

    at: int
    call: Callback
    args: Any
    context: Context
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled


_CALLS_MAX = 500_000
"""More callbacks than this at one instant are an endless loop."""


class Livelock(Exception):
    """The simulation is busy but makes no progress."""


class SimulatedEventLoop:
    """Runs callbacks at their instants, in the order of scheduling. It implements what asyncio's
    tasks, futures and timeouts use, and no input or output."""

    def __init__(self, instant: int) -> None:
        self.instant = instant
        self._started_at = instant
        self._ready: deque[Handle] = deque()
        self._timers: list[tuple[int, int, Handle]] = []
        self._timer_count = 0
        self._killed: list[Actor] = []
        self.before_time_advances: Callable[[], None] | None = None
        """Called once, after all callbacks of the current instant."""
        self.livelock: str | None = None
        """Why the simulation cannot go on."""
        self.unhandled_errors: list[str] = []

    def run(self, until: int) -> None:
        """Runs everything due up to this instant."""
        _set_running_loop(cast(Any, self))
        try:
            while True:
                self._run_ready()
                if self.before_time_advances is not None:
                    call, self.before_time_advances = self.before_time_advances, None
                    call()
                if not self._timers or self._timers[0][0] > until:
                    break
                self._advance_time()
            self.instant = until
        finally:
            _set_running_loop(None)

    def _advance_time(self) -> None:
        """To the next timer, with all timers of the same actor at the same instant, as in any event
        loop: six tasks that end together are settled together."""
        timers = self._timers
        at, _, handle = heappop(timers)
        self.instant = max(at, self.instant)
        self._ready.append(handle)
        actor = handle.context.get(_actor)
        while actor is not None and timers and timers[0][0] == at:
            if timers[0][2].context.get(_actor) is not actor:
                break
            self._ready.append(heappop(timers)[2])

    def start(self, work: Coroutine[Any, Any, T], actor: Actor | None = None) -> asyncio.Task[T]:
        """A task on behalf of an actor."""
        context = copy_context()
        context.run(_actor.set, actor)
        return asyncio.Task(work, loop=cast(Any, self), context=context)

    def at(self, instant: int, call: Callback, *args: Any) -> Handle:
        """Calls this at the instant on behalf of no actor, so that no pause delays it."""
        context = copy_context()
        context.run(_actor.set, None)
        return self._add_timer(instant, call, args, context)

    def pause(self, actor: Actor) -> None:
        for part in actor.parts:
            self._set_paused(part, is_stopped=True, is_blocked=part.is_blocked)

    def resume(self, actor: Actor) -> None:
        for part in actor.parts:
            self._set_paused(part, is_stopped=False, is_blocked=part.is_blocked)

    def block(self, actor: Actor) -> None:
        self._set_paused(actor, is_stopped=actor.is_stopped, is_blocked=True)

    def unblock(self, actor: Actor) -> None:
        self._set_paused(actor, is_stopped=actor.is_stopped, is_blocked=False)

    def _set_paused(self, actor: Actor, *, is_stopped: bool, is_blocked: bool) -> None:
        was_paused = actor.is_paused
        actor.is_stopped, actor.is_blocked = is_stopped, is_blocked
        actor.is_paused = is_stopped or is_blocked
        if actor.is_paused and not was_paused:
            actor.paused_at = self.instant
        if was_paused and not actor.is_paused:
            actor.resumed_at = self.instant
        if not actor.is_paused and not actor.is_killed:
            self._ready.extend(actor.deferred)
            actor.deferred.clear()

    def kill(self, actor: Actor) -> None:
        for part in actor.parts:
            part.is_killed = True
            self._killed.append(part)

    def _run_ready(self) -> None:
        ready, calls = self._ready, 0
        while ready:
            handle = ready.popleft()
            calls += 1
            if calls > _CALLS_MAX:
                self.livelock = "endless loop: callbacks follow each other at one instant"
            if self.livelock is not None:
                raise Livelock(self.livelock)
            if handle.is_cancelled:
                continue
            actor = handle.context.get(_actor)
            if actor is not None and (actor.is_paused or actor.is_killed):
                actor.deferred.append(handle)
            else:
                handle.context.run(handle.call, *handle.args)

    def _add_timer(self, at: int, call: Callback, args: Any, context: Context) -> Handle:
        handle = Handle(at, call, args, context)
        self._timer_count += 1
        heappush(self._timers, (at, self._timer_count, handle))
        if self._timer_count % 100_000 == 0:  # most timers are cancelled long before they are due
            self._timers = [timer for timer in self._timers if not timer[2].is_cancelled]
            heapify(self._timers)
        return handle

    # The interface that asyncio uses.

    def time(self) -> float:
        return (self.instant - self._started_at) / SECOND

    def call_soon(self, callback: Callback, *args: Any, context: Any = None) -> Any:
        handle = Handle(self.instant, callback, args, context or copy_context())
        self._ready.append(handle)
        return handle

    def call_at(self, when: float, callback: Callback, *args: Any, context: Any = None) -> Any:
        at = self._started_at + ceil(when * SECOND - 0.5)
        return self._add_timer(at, callback, args, context or copy_context())

    def call_later(self, delay: float, callback: Callback, *args: Any, context: Any = None) -> Any:
        at = self.instant + ceil(delay * SECOND)
        return self._add_timer(at, callback, args, context or copy_context())

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=cast(Any, self))

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=cast(Any, self), **options)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            self.unhandled_errors.append(f"{context['message']}: {error!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def close(self) -> None:
        """Cancels all tasks, those of killed actors too."""
        _set_running_loop(cast(Any, self))
        self.livelock = None
        try:
            for actor in self._killed:
                actor.is_killed = False
                self._set_paused(actor, is_stopped=False, is_blocked=False)
            for _ in range(5):
                for task in asyncio.all_tasks(cast(Any, self)):
                    task.cancel()
                self._run_ready()
        finally:
            _set_running_loop(None)
            self._timers.clear()
