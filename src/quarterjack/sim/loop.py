"""An event loop in which time passes only when nobody has anything left to do.

Whatever runs belongs to a place: a node, or the people. A place can be stopped, as by SIGSTOP: what
it would do waits until it goes on. And it can end, as by SIGKILL: nothing of it ever runs again,
not even what a program does on its way out.
"""

from __future__ import annotations

import asyncio
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Any, TypeVar, cast

from quarterjack.times.instants import SECOND

T = TypeVar("T")


class Place:
    """What is stopped, goes on and ends together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_stopped = False
        self.stopped_at = self.went_on_at = -1
        self.is_gone = False
        self._waiting: list[Turn] = []
        """What it would have done while it was stopped. Once it is gone these are only kept, so
        that no half-done work is finished by being thrown away."""

    def keep(self, turn: Turn) -> None:
        self._waiting.append(turn)

    def taken(self) -> list[Turn]:
        waiting, self._waiting = self._waiting, []
        return waiting


_place: ContextVar[Place | None] = ContextVar("place", default=None)


class Turn:
    """Something that is to be called, at once or at some instant."""

    __slots__ = ("args", "at", "call", "context", "is_cancelled")

    def __init__(self, at: int, call: Callable[..., Any], args: Any, context: Context) -> None:
        self.at = at
        self.call = call
        self.args = args
        self.context = context
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled


_TURNS_MAX = 500_000
"""So many turns without any time passing are no work, but a loop without end."""


class NeverAtRest(Exception):
    """A world in which time stands still."""


class SimulatedLoop:
    """Everything in the order in which it was asked for, and at its instant. It has what asyncio's
    tasks, futures and timeouts ask of a loop, and nothing that would reach outside."""

    def __init__(self, instant: int) -> None:
        self.instant = instant
        self._begun = instant
        self._ready: deque[Turn] = deque()
        self._ahead: list[tuple[int, int, Turn]] = []
        self._asked = 0
        self._ended: list[Place] = []
        self.before_time_passes: Callable[[], None] | None = None
        """Called once, when all that happens at this instant has happened."""
        self.restless: str | None = None
        """Why the world cannot go on."""
        self.accidents: list[str] = []
        """What went wrong with nobody to tell."""

    def run(self, until: int) -> None:
        """All that happens up to this instant."""
        _set_running_loop(cast(Any, self))
        try:
            while True:
                self._take_turns()
                if self.before_time_passes is not None:
                    call, self.before_time_passes = self.before_time_passes, None
                    call()
                if not self._ahead or self._ahead[0][0] > until:
                    break
                self._pass_time()
            self.instant = until
        finally:
            _set_running_loop(None)

    def _pass_time(self) -> None:
        """Up to what is next. What a place does at the same instant, it does together, as any event
        loop lets it: six that end together are settled together."""
        ahead = self._ahead
        at, _, turn = heappop(ahead)
        self.instant = max(at, self.instant)
        self._ready.append(turn)
        place = turn.context.get(_place)
        while place is not None and ahead and ahead[0][0] == at:
            if ahead[0][2].context.get(_place) is not place:
                break
            self._ready.append(heappop(ahead)[2])

    def start(self, doing: Coroutine[Any, Any, T], place: Place | None = None) -> asyncio.Task[T]:
        """Begin something in a place."""
        context = copy_context()
        context.run(_place.set, place)
        return asyncio.Task(doing, loop=cast(Any, self), context=context)

    def at(self, instant: int, call: Callable[..., Any], *args: Any) -> Turn:
        """Call this then, whatever becomes of the place that asks for it."""
        context = copy_context()
        context.run(_place.set, None)
        return self._later(instant, call, args, context)

    def stop_place(self, place: Place) -> None:
        if not place.is_stopped:
            place.stopped_at = self.instant
        place.is_stopped = True

    def let_go_on(self, place: Place) -> None:
        if place.is_stopped:
            place.went_on_at = self.instant
        place.is_stopped = False
        if not place.is_gone:
            self._ready.extend(place.taken())

    def end_place(self, place: Place) -> None:
        place.is_gone = True
        self._ended.append(place)

    def _take_turns(self) -> None:
        ready, taken = self._ready, 0
        while ready:
            turn = ready.popleft()
            taken += 1
            if taken > _TURNS_MAX:
                self.restless = "somebody is busy for ever: no time passes any more"
            if self.restless is not None:
                raise NeverAtRest(self.restless)
            if turn.is_cancelled:
                continue
            place = turn.context.get(_place)
            if place is not None and (place.is_stopped or place.is_gone):
                place.keep(turn)
            else:
                turn.context.run(turn.call, *turn.args)

    def _later(self, at: int, call: Callable[..., Any], args: Any, context: Context) -> Turn:
        turn = Turn(at, call, args, context)
        self._asked += 1
        heappush(self._ahead, (at, self._asked, turn))
        if self._asked % 100_000 == 0:  # most timers are cancelled long before they are due
            self._ahead = [each for each in self._ahead if not each[2].is_cancelled]
            heapify(self._ahead)
        return turn

    # What asyncio asks of a loop.

    def time(self) -> float:
        return (self.instant - self._begun) / SECOND

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Any = None) -> Any:
        turn = Turn(self.instant, callback, args, context or copy_context())
        self._ready.append(turn)
        return turn

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> Any:
        at = self._begun + ceil(when * SECOND - 0.5)
        return self._later(at, callback, args, context or copy_context())

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> Any:
        at = self.instant + ceil(delay * SECOND)
        return self._later(at, callback, args, context or copy_context())

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=cast(Any, self))

    def create_task(self, coro: Any, **words: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=cast(Any, self), **words)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None:
            self.accidents.append(f"{context['message']}: {error!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def close(self) -> None:
        """Whatever still waits is cancelled, wherever it was."""
        _set_running_loop(cast(Any, self))
        self.restless = None
        try:
            for place in self._ended:
                place.is_gone = False
                self.let_go_on(place)
            for _ in range(5):
                for task in asyncio.all_tasks(cast(Any, self)):
                    task.cancel()
                self._take_turns()
        finally:
            _set_running_loop(None)
            self._ahead.clear()
