"""Runs an app: in the foreground, in a thread of another program, or with an ASGI application; and
makes its requests on the database."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, suppress
from datetime import datetime
from typing import Any, Protocol, TypeVar

from quarterjack.cli.runtime import Runtime
from quarterjack.config import database_url
from quarterjack.control import Control, recover
from quarterjack.declare.code import CodeSource, is_import_only
from quarterjack.declare.declaration import Declaration
from quarterjack.errors import Conflict, QuarterjackError
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.service import Serve, Service, open_store
from quarterjack.store.address import without_secrets
from quarterjack.targets import registrations
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import from_datetime
from quarterjack.views import run_view

T = TypeVar("T")
_SHOWN_MAX = 20
_CANCELLING_SECONDS = 2.0
STORE_TIMEOUT = 30.0
"""How many seconds a start in another program waits for a database that cannot be reached."""
_POLL_SECONDS = 0.05
_FORK_REMEDY = (
    "start() in each worker process instead, such as in gunicorn's post_worker_init hook or in the "
    "lifespan of the application"
)


class App(Protocol):
    """What is hosted: `app.Quarterjack`."""

    @property
    def source(self) -> CodeSource: ...

    def declaration(self) -> Declaration: ...


class Host:
    def __init__(self, app: App) -> None:
        self._app = app
        self._lock = threading.Lock()
        """Held during a start and a stop: a stop ends a start, and waits for its end."""
        self._running: _Running | None = None
        self._process: int | None = None
        """The process that has started it."""

    def run(self, host: str, port: int, workers: int | None) -> None:
        """In the foreground of a console, until a signal."""
        from quarterjack.cli.foreground import run_in_foreground

        if _is_only_imported():
            return
        try:
            self._refuse_run()
            declaration = self._declaration(workers)
            for line in self._summary(declaration):
                _print(line)
            run_in_foreground(self._service(declaration, serve=_serving(host, port)), "info")
        except QuarterjackError as error:
            sys.exit(f"error: {error}")

    def _refuse_run(self) -> None:
        remedy = "use start() and stop(), or `async with app.lifespan()`"
        if self._running is not None:
            raise Conflict("it was started already; stop() it before run()")
        if threading.current_thread() is not threading.main_thread():
            raise Conflict(f"run() handles signals, which only the main thread can; {remedy}")
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        raise Conflict(f"run() cannot be called while an event loop is running; {remedy}")

    def _summary(self, declaration: Declaration) -> Iterator[str]:
        tasks, schedules = len(self._app.source.registry.tasks), declaration.specifications
        database = without_secrets(self._url(declaration))
        counts = f"{_counted(len(schedules), 'schedule')}, {_counted(tasks, 'task')}"
        yield f"quarterjack: {counts}, {database}"
        for key in list(schedules)[:_SHOWN_MAX]:
            yield f"  {key}: {schedules[key].recurrence.describe()}"
        if len(schedules) > _SHOWN_MAX:
            yield f"  and {len(schedules) - _SHOWN_MAX} more"

    def start(self, *, plans: bool, works: bool, timeout: float | None) -> None:
        if _is_only_imported():
            return
        self._refuse_after_fork()
        _check_timeout(timeout)
        with self._lock:
            if self._running is not None:
                raise Conflict("it was started already; stop() it first")
            self._process = os.getpid()
            roles = {"plans": plans, "works": works}
            try:
                service = self._service(self._declaration(), **roles, store_timeout=timeout)
                self._running = _Running(service)
                self._running.start()
            except BaseException:
                self._running = self._process = None
                raise

    def stop(self) -> None:
        self._refuse_after_fork()
        while True:
            if (running := self._running) is not None:
                running.refuse_from_inside()
                running.request_stop()
            if self._lock.acquire(timeout=_POLL_SECONDS):
                break
        try:
            running, self._running, self._process = self._running, None, None
            if running is not None:
                running.stop()
        finally:
            self._lock.release()

    def _refuse_after_fork(self) -> None:
        """Threads do not survive a fork: in the child nothing runs, and the lock may stay held."""
        if self._process not in (None, os.getpid()):
            raise Conflict(f"this process was forked after start(); {_FORK_REMEDY}")

    @asynccontextmanager
    async def lifespan(self, timeout: float | None) -> AsyncIterator[None]:
        """Async tasks run on the running loop, the engine in its thread."""
        registry = self._app.source.registry
        before = registry.loop
        try:
            if self._running is None:
                registry.loop = asyncio.get_running_loop()
            try:
                await asyncio.to_thread(self.start, plans=True, works=True, timeout=timeout)
            except asyncio.CancelledError:  # the thread goes on with the start
                await asyncio.to_thread(self.stop)
                raise
            try:
                yield
            finally:
                await asyncio.to_thread(self.stop)
        finally:
            registry.loop = before

    def ask(self, request: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        return self._in_a_thread(lambda: self._ask(request))

    async def ask_async(self, request: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        return await asyncio.to_thread(self.ask, request)

    def pausing(
        self, key: str, reason: str | None, until: datetime | None
    ) -> Callable[[Control], Coroutine[Any, Any, Any]]:
        instant = None if until is None else from_datetime(until, "until")
        return lambda control: control.pause(key, reason=reason, until=instant)

    def runs(self, key: str | None, limit: int) -> list[dict[str, Any]]:
        from quarterjack.store.reader import Reader

        self._refuse_after_fork()
        with closing(Reader(self._url(self._declaration()), KINDS)) as reader:
            return [run_view(found) for found in reader.runs(key, limit=limit)]

    async def runs_async(self, key: str | None, limit: int) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self.runs, key, limit)

    def recover(self) -> int:
        return self._in_a_thread(self._recover)

    async def _recover(self) -> int:
        declaration, clock = self._declaration(), Runtime()
        store = await open_store(self._url(declaration), clock)
        try:
            return await recover(store, declaration.limits, store.now())
        finally:
            await store.close()

    async def _ask(self, request: Callable[[Control], Coroutine[Any, Any, T]]) -> T:
        store = await open_store(self._url(self._declaration()), Runtime(), create=False)
        try:
            return await request(Control(store, by=Runtime().user, origin="python"))
        finally:
            await store.close()

    def _in_a_thread(self, request: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Also where a loop is running, such as in a notebook or in a task."""
        self._refuse_after_fork()
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(lambda: asyncio.run(request())).result()

    def _declaration(self, workers: int | None = None) -> Declaration:
        declaration = self._app.declaration()
        if workers is None:
            return declaration
        return declaration._replace(settings=declaration.settings._replace(workers=workers))

    def _url(self, declaration: Declaration) -> str:
        return database_url(None, os.environ, declaration.settings)

    def _service(self, declaration: Declaration, **options: Any) -> Service:
        registry, url = self._app.source.registry, self._url(declaration)
        return Service(Runtime(), declaration, url, registry=registry, **options)


class _Running:
    """A service on a loop in a thread."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loop = asyncio.new_event_loop()
        self._is_ready = False
        self._is_ready_or_ended = threading.Event()
        self._is_stopping = False
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="quarterjack", daemon=True)

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._service.run(self._note_ready))
        except BaseException as error:
            self._error = error
        finally:
            self._loop.run_until_complete(_cancel_tasks())
            self._loop.close()
            self._is_ready_or_ended.set()

    def _note_ready(self) -> None:
        self._is_ready = True
        self._is_ready_or_ended.set()

    def start(self) -> None:
        """Returns when it is ready. After an error the thread has ended."""
        self._thread.start()
        try:
            self._is_ready_or_ended.wait()
        except BaseException:  # such as KeyboardInterrupt
            self.stop()
            raise
        if self._error is not None:
            self._thread.join()
            raise self._error
        if not self._is_ready:
            self._thread.join()
            raise Conflict("stop() was called before the start was complete; start() it again")

    def request_stop(self) -> None:
        """Only the first one counts: the service takes a second one as an order to hurry."""
        with suppress(RuntimeError):  # the loop is closed: it has ended
            self._loop.call_soon_threadsafe(self._stop_once)

    def _stop_once(self) -> None:
        if not self._is_stopping:
            self._is_stopping = True
            self._service.stop()

    def stop(self) -> None:
        self.request_stop()
        self._thread.join()
        if self._error is not None:
            raise self._error

    def refuse_from_inside(self) -> None:
        if threading.current_thread() is self._thread:
            remedy = "call it from the program, or from a thread that the task does not wait for"
            raise Conflict(f"stop() waits for running work, and a task calls it; {remedy}")


def _check_timeout(timeout: object) -> None:
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and timeout >= 0):  # type: ignore[operator]
        remedy = "give seconds, or None to wait without a limit"
        raise invalid("timeout", timeout, "is not a number of seconds", remedy)


async def _cancel_tasks() -> None:
    """Those that go on although their attempts were abandoned."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left, timeout=_CANCELLING_SECONDS)


def _serving(host: str, port: int) -> Serve:
    """Also prints where it listens, which is known once a port is bound."""
    from quarterjack.api.health import serve_health

    async def serve(problems: Callable[[], list[str]]) -> asyncio.Server:
        server = await serve_health(host, port, problems)
        address = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
        _print(f"quarterjack: {address}/healthz and /readyz; stop with Ctrl-C")
        return server

    return serve


def _is_only_imported() -> bool:
    """By a command, or by a task process: then `run()` and `start()` do nothing."""
    return is_import_only.get() or registrations.is_task_process


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _print(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201 - for people
