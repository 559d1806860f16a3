"""The context of a task, and the dependencies that are injected into it."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from copy import deepcopy
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

import uncalled_for

from quarterjack.targets.call import Call
from quarterjack.times.cached_property import cached_property
from quarterjack.times.durations import read_duration
from quarterjack.times.instants import to_datetime

_FORMAT = logging.Formatter("%(message)s")
T = TypeVar("T")
current_context: ContextVar[Context] = ContextVar("current_context")


class Context:
    """The run and the attempt that a task works for. A parameter annotated with this class is given
    the context; `Context.current()` finds it from anywhere inside a task."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.log = _RunLog(logging.getLogger("quarterjack.task"), call)
        """Writes to the output of the run."""

    @staticmethod
    def current() -> Context:
        """The context of the running task."""
        try:
            return current_context.get()
        except LookupError:
            raise RuntimeError("no task is running here; call it from a task") from None

    @property
    def run_id(self) -> str:
        return self._call.run_id

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of a run."""
        return self._call.idempotency_key

    @property
    def schedule_id(self) -> int:
        return self._call.schedule_id

    @property
    def schedule(self) -> str:
        """The key of the schedule."""
        return self._call.key

    @property
    def name(self) -> str | None:
        return self._call.name

    @property
    def slot(self) -> datetime:
        """The instant that this run is for, aware, in UTC."""
        return to_datetime(self._call.slot)

    @property
    def attempt(self) -> int:
        """1 for the first."""
        return self._call.attempt

    @property
    def repeat_number(self) -> int:
        """How many repeats of the schedule had succeeded when the run was planned."""
        return self._call.repeat_number

    @cached_property
    def payload(self) -> Mapping[str, Any]:
        return deepcopy(self._call.payload)  # shared with later runs of the schedule

    @property
    def owner(self) -> str | None:
        """The user who created the schedule; None for declared ones."""
        return self._call.owner

    @property
    def last_success(self) -> datetime | None:
        """When the last successful run of the schedule ended."""
        last = self._call.last_success_at
        return None if last is None else to_datetime(last)

    @property
    def deadline(self) -> datetime | None:
        """When the attempt times out; None without a timeout."""
        deadline = self._call.control.deadline()
        return None if deadline is None else to_datetime(deadline)

    @property
    def cancelled(self) -> bool:
        """Has the attempt been asked to stop? Sync tasks check this; async ones get
        `asyncio.CancelledError`."""
        return self._call.control.is_cancelled()

    def extend(self, timeout: str | timedelta) -> None:
        """Let the attempt run for so long from now: `context.extend("5m")`."""
        self._call.control.extend(read_duration(timeout, "timeout"))

    def progress(self, fraction: float, text: str = "") -> None:
        """Report how far the work is, from 0 to 1, with a text."""
        if not 0 <= fraction <= 1:
            raise ValueError(f"progress {fraction} is outside 0 to 1; give the fraction done")
        self._call.control.report(float(fraction), text)
        self._call.write(f"{fraction:.0%} {text}".rstrip().encode() + b"\n")

    def __repr__(self) -> str:
        return f"<Context run={self.run_id} schedule={self.schedule!r} attempt={self.attempt}>"


class _RunLog(logging.LoggerAdapter[logging.Logger]):
    """Lines in the output of a run, each with its level; of `exception()`, with the traceback."""

    def __init__(self, logger: logging.Logger, call: Call) -> None:
        super().__init__(logger, {})
        self._write = call.write

    def log(self, level: int, msg: object, *args: object, **options: Any) -> None:
        cause = options.get("exc_info")
        if cause and not isinstance(cause, tuple | BaseException):
            cause = sys.exc_info()
        elif isinstance(cause, BaseException):
            cause = type(cause), cause, cause.__traceback__
        record = logging.LogRecord(self.logger.name, level, "", 0, msg, args, cause or None)
        try:
            text = _FORMAT.format(record)
        except (TypeError, ValueError):  # the arguments do not fit; logging never fails its caller
            text = f"{msg} {args}"
        self._write(f"{text}\n".encode(errors="replace"), level)


def Depends(dependency: Callable[..., Any], **arguments: Any) -> Any:  # noqa: N802 - as in FastAPI
    """As the default of a parameter: the task is given what this function returns or yields. It may
    be sync or async, a generator or a context manager, and have dependencies of its own; it is
    called once per attempt and closed when that ends."""
    return uncalled_for.Depends(_factory_of(dependency), **arguments)


@cache
def _factory_of(dependency: Callable[..., Any]) -> Callable[..., Any]:
    """Cached, because an attempt shares what the same factory has returned."""
    if inspect.isgeneratorfunction(dependency):
        return contextmanager(dependency)
    if inspect.isasyncgenfunction(dependency):
        return asynccontextmanager(dependency)
    return dependency
