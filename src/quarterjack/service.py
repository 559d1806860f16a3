"""Builds a node for the real world and runs it: opens the store, applies the declaration, recovers
after a crash, and runs until it is stopped.

It can live inside another program: it installs no signal handler, configures no logging and never
ends the process. The console script does that (`cli.foreground`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TypeAlias, TypeVar

from quarterjack import __version__
from quarterjack.clock import SystemClock, host_and_pid, process_identity, process_name
from quarterjack.control import recover
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration
from quarterjack.declare.reconciler import Reconciler
from quarterjack.engine.node import Node
from quarterjack.errors import Conflict, StoreError, StoreUnavailable
from quarterjack.loops import run_on
from quarterjack.store.address import address_of, is_postgres, without_secrets
from quarterjack.store.sqlite.file import open_database, path_of
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.store import Store
from quarterjack.store.types import NodeInfo
from quarterjack.targets.kinds import KINDS, make_targets, warm_up
from quarterjack.targets.registrations import Registry
from quarterjack.telemetry.logs import log, log_fields
from quarterjack.times.instants import SECOND

_RETRY_SECONDS = 1.0
_LOG_INTERVAL = 10 * SECOND
_UNSETTLED = "the store was unavailable and some runs are unsettled; the log names them; restart"
Serve: TypeAlias = Callable[[Callable[[], list[str]]], Awaitable[asyncio.Server]]
"""Starts a server; it is given a function that says why the node is not ready."""
T = TypeVar("T")


async def open_store(
    url: str, clock: SystemClock, durability: str = "full", *, create: bool = True
) -> Store:
    """The store at this address. With `create`, a missing database is created."""
    if is_postgres(url):
        return await _open_postgres(url, clock, durability, create=create)
    path = path_of(url)
    opening = partial(open_database, path, now=clock.now(), create=create, durability=durability)
    return SqliteStore(await asyncio.to_thread(opening), path, clock, KINDS)


async def _open_postgres(url: str, clock: SystemClock, durability: str, *, create: bool) -> Store:
    address = address_of(url)
    from quarterjack.store.postgres.store import PostgresStore

    store = PostgresStore(address, clock, process_name(), KINDS, durability)
    return await store.open(create=create)


class Service:
    """One node: it plans, works, or does both."""

    def __init__(
        self,
        clock: SystemClock,
        declaration: Declaration,
        database: str,
        serve: Serve | None = None,
        registry: Registry | None = None,
        *,
        plans: bool = True,
        works: bool = True,
        take_over: bool = False,
        store_timeout: float | None = None,
    ) -> None:
        """`store_timeout`: how many seconds a start waits for a store that is unavailable; None is
        without a limit, as for a program under a supervisor."""
        self._clock = clock
        self._declaration = declaration
        self._database = database
        self._serve = serve
        self._worker = process_name()
        self._config = declaration.node_config(self._worker)._replace(plans=plans, works=works)
        self._registry = registry or Registry()
        self._take_over = take_over
        self._store_timeout = store_timeout
        self._node: Node | None = None
        self._opening: asyncio.Task[Store] | None = None
        self._stop_requested = asyncio.Event()

    def stop(self) -> None:
        """Finish the work under way, then return from `run`; called again, hand work back at once.
        A start that is under way is stopped as well, and does not wait for the store any more."""
        self._stop_requested.set()
        if self._opening is not None:
            self._opening.cancel()
        if self._node is not None:
            self._node.stop()

    async def run(self, on_ready: Callable[[], None] = lambda: None) -> None:
        """Run until `stop`. Raises what makes a start impossible, `StoreUnusable` when the store
        must not be used any more, and `Conflict` if runs could not be settled at the end."""
        self._registry.is_in_use = True
        try:
            await self._run(on_ready)
        finally:
            self._registry.is_in_use = False

    async def _run(self, on_ready: Callable[[], None]) -> None:
        self._wait = _StoreWait(self._clock, self._store_timeout)
        store = await self._retried(self._open_store)
        if store is None:
            return
        try:
            is_settled = await self._run_node(store, on_ready)
        finally:
            with suppress(StoreError):  # else it is gone when its heartbeat or its process ends
                await store.unregister(self._worker)
            await store.close()
        if not is_settled:
            raise Conflict(_UNSETTLED)
        log.info("stopped")

    async def _run_node(self, store: Store, on_ready: Callable[[], None]) -> bool:
        """Until it is stopped; were all runs settled?"""
        targets = make_targets(self._registry, self._config.worker.concurrency)
        node = Node(store, targets, self._clock, self._config)
        # Bind first: a start that cannot succeed changes nothing.
        async with AsyncExitStack() as stack:
            address: str | None = None
            if self._serve is not None:
                server = await stack.enter_async_context(await self._serve(node.problems))
                address = "{}:{}".format(*server.sockets[0].getsockname()[:2])
            await self._retried(lambda: store.register(self._node_info(store.now())))
            if self._config.plans:
                node.add(await self._apply_declaration(store))
            if self._stop_requested.is_set():
                return True
            self._node = node
            place = without_secrets(self._database)
            log.info("up %s", log_fields(database=place, worker=self._worker, at=address))
            await self._call_hooks(self._registry.on_start)
            if self._config.works:
                warm_up(targets)
            on_ready()
            try:
                return not await node.run()
            finally:
                await self._call_hooks(self._registry.on_stop)

    async def _call_hooks(self, hooks: Sequence[Callable[[], object]]) -> None:
        for hook in hooks if self._config.works else ():
            if inspect.iscoroutine(answer := hook()):
                await run_on(self._registry.loop, answer)

    def _node_info(self, now: int) -> NodeInfo:
        host, pid = host_and_pid()
        return NodeInfo(
            name=self._worker,
            host=host,
            pid=pid,
            plans=self._config.plans,
            works=self._config.works,
            program=__version__,
            zone_data=self._config.zone_data,
            declaration=self._declaration.name,
            revision=self._declaration.revision,
            started_at=now,
            seen_at=now,
            process=process_identity(pid),
            capabilities=self._registry.capabilities.to_text(),
        )

    async def _apply_declaration(self, store: Store) -> Reconciler:
        """Makes the store equal to the declaration and continues what a crash interrupted."""
        declaration = self._declaration
        applying = partial(apply, store, declaration, take_over=self._take_over)
        applied = await self._retried(lambda: applying(store.now()))
        await self._retried(lambda: recover(store, declaration.limits, store.now()))
        is_older = applied is not None and applied.is_refused
        return Reconciler(store, declaration, is_older=is_older)

    async def _open_store(self) -> Store | None:
        """None if it was stopped. A SQLite file is opened in a thread, which takes a moment and is
        not interrupted."""
        durability = self._declaration.settings.durability
        opening = asyncio.create_task(open_store(self._database, self._clock, durability))
        self._opening = opening if is_postgres(self._database) else None
        try:
            return await opening
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():  # the service itself is cancelled
                raise
            return None
        finally:
            self._opening = None

    async def _retried(self, request: Callable[[], Awaitable[T]]) -> T | None:
        """The answer of the store, retried while it is unavailable; None once we are stopping."""
        while not self._stop_requested.is_set():
            try:
                return await request()
            except StoreUnavailable as error:
                self._wait.note(error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stop_requested.wait(), _RETRY_SECONDS)
        return None


class _StoreWait:
    """A start that waits for its store: the log says so at once and then every 10 seconds, until
    the timeout."""

    def __init__(self, clock: SystemClock, timeout: float | None) -> None:
        self._clock = clock
        self._timeout = timeout
        self._started_at = clock.since_boot()
        self._logged = ("", 0)
        """The last line, and when."""

    def note(self, error: StoreUnavailable) -> None:
        """Raises once the timeout has passed."""
        now, text = self._clock.since_boot(), str(error)
        waited = (now - self._started_at) // SECOND
        if self._timeout is not None and now - self._started_at >= self._timeout * SECOND:
            raise StoreUnavailable(f"not started, gave up after {waited} s: {text}") from error
        logged, logged_at = self._logged
        if text != logged or now - logged_at >= _LOG_INTERVAL:
            self._logged = (text, now)
            log.warning(
                "waiting for the store, retrying %s: %s", log_fields(waited=f"{waited}s"), text
            )
