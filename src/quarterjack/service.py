"""Wiring: the one place where the parts are put together for the real world."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from quarterjack import __version__
from quarterjack.api.health import serve_health
from quarterjack.clock import SystemClock, host_and_pid, process_identity, process_name
from quarterjack.control import Control, recover
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration
from quarterjack.declare.reconciler import Reconciler
from quarterjack.declare.revisions import revision_of
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.errors import Conflict, QuarterjackError, StoreAway, StoreError, StoreUnusable
from quarterjack.store.address import is_postgres, refuse_without_driver, without_secrets
from quarterjack.store.sqlite.file import open_database, path_of
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.store import Store
from quarterjack.store.types import NodeInfo
from quarterjack.targets.call import Target
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.task import Function, TaskTarget
from quarterjack.telemetry.logs import configure_logging, log, log_fields

_RETRY_SECONDS = 1.0
_LEAVING_SECONDS = 2.0
_UNSETTLED = "the store was away and some runs are not settled; the log names them; start again"
T = TypeVar("T")


async def open_store(
    url: str, clock: SystemClock, durability: str = "full", *, create: bool = True
) -> Store:
    """The store at this address; `create` allows to make a database where there is none."""
    if is_postgres(url):
        return await _open_postgres(url, clock, durability, create=create)
    path = path_of(url)
    opening = partial(open_database, path, now=clock.now(), create=create, durability=durability)
    return SqliteStore(await asyncio.to_thread(opening), path, clock)


async def _open_postgres(url: str, clock: SystemClock, durability: str, *, create: bool) -> Store:
    refuse_without_driver()
    from quarterjack.store.postgres.connection import address_of
    from quarterjack.store.postgres.store import PostgresStore

    store = PostgresStore(address_of(url), clock, process_name(), durability)
    return await store.open(create=create)


def targets(tasks: Mapping[str, Function]) -> dict[str, Target]:
    """Every kind of target, by its name."""
    return {"task": TaskTarget(tasks), "command": CommandTarget()}


def ask(
    clock: SystemClock,
    database: str,
    by: str,
    asking: Callable[[Control], Coroutine[Any, Any, T]],
    *,
    create: bool = False,
) -> T:
    """What somebody asks on the command line of the database itself; no service need run."""

    async def caller() -> T:
        store = await open_store(database, clock, create=create)
        try:
            return await asking(Control(store, by=by, origin="cli", owner=by))
        finally:
            await store.close()

    return asyncio.run(caller())


def up(
    clock: SystemClock,
    declaration: Declaration,
    database: str,
    *,
    host: str,
    port: int,
    loglevel: str,
    plans: bool = True,
    works: bool = True,
) -> None:
    """Run the service, or the part of it that plans or works, until it is told to stop."""
    configure_logging(loglevel)
    asyncio.run(_up(clock, declaration, database, host, port, plans=plans, works=works))


async def _up(
    clock: SystemClock,
    declaration: Declaration,
    database: str,
    host: str,
    port: int,
    *,
    plans: bool,
    works: bool,
) -> None:
    told_to_stop = _Stop()
    open_it = partial(open_store, database, clock, declaration.settings.durability)
    store = await _waited_for(open_it, told_to_stop)
    if store is None:
        return
    problem: QuarterjackError | None = None
    worker = process_name()
    try:
        node_config = declaration.node_config(worker)._replace(plans=plans, works=works)
        node = Node(store, targets({}), clock, node_config)
        # The door first: a start that cannot succeed changes nothing.
        async with await _served(host, port, node) as server:
            here = node_info(declaration, node_config, store.now())
            await _waited_for(partial(_registered, store, here), told_to_stop)
            if plans:
                reconciler = Reconciler(store, declaration)
                node.add(reconciler)
                reconciler.waits = await _declared(store, declaration, told_to_stop)
            told_to_stop.then(node.stop)
            address = "{}:{}".format(*server.sockets[0].getsockname()[:2])
            place = without_secrets(database)
            log.info("up %s", log_fields(database=place, worker=worker, at=address))
            gc.collect()
            gc.freeze()  # what was loaded to start with lives as long as we do
            if await node.run():
                problem = Conflict(_UNSETTLED)
    except StoreUnusable as error:
        problem = error
    finally:
        with suppress(StoreError):  # else its beats end, or its process
            await store.unregister(worker)
        await store.close()
    log.info("stopped")
    await _leave(problem)


def node_info(declaration: Declaration, node_config: NodeConfig, now: int) -> NodeInfo:
    """This process, as others may see it."""
    name, (host, pid) = node_config.seats.worker, host_and_pid()
    said = declaration.settings.name, revision_of(declaration)
    kind = node_config.plans, node_config.works
    node = NodeInfo(name, host, pid, *kind, __version__, node_config.zone_data, *said, now, now)
    return node._replace(process=process_identity(pid))


async def _registered(store: Store, here: NodeInfo) -> None:
    await store.register(here._replace(seen_at=store.now()))


async def _declared(store: Store, declaration: Declaration, told_to_stop: _Stop) -> bool:
    """What the file says holds, and what a crash left behind goes on. Has the file to wait?"""
    applied = await _waited_for(lambda: apply(store, declaration, store.now()), told_to_stop)
    await _waited_for(lambda: recover(store, declaration.limits, store.now()), told_to_stop)
    return applied is not None and applied.is_refused


async def _leave(problem: QuarterjackError | None) -> None:
    """Work that does not end when it is told to must not keep the program from ending."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    deaf = (await asyncio.wait(left, timeout=_LEAVING_SECONDS))[1] if left else set()
    if deaf:
        log.error("left while work goes on that does not end %s", log_fields(count=len(deaf)))
        logging.shutdown()
        os._exit(1)
    if problem is not None:
        raise problem


async def _waited_for(asking: Callable[[], Awaitable[T]], told_to_stop: _Stop) -> T | None:
    """The answer of a store; while it is away, it is asked again, until we are told to stop."""
    while not told_to_stop.is_wanted:
        try:
            return await asking()
        except StoreAway as error:
            log.warning("waiting: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
    return None


class _Stop:
    """SIGTERM and SIGINT, from the first moment on: a start that is under way ends as well."""

    def __init__(self) -> None:
        self.is_wanted = False
        self._stop: Callable[[], None] | None = None
        for each in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(each, self._told)

    def then(self, stop: Callable[[], None]) -> None:
        """What is to be done about it from now on."""
        self._stop = stop
        if self.is_wanted:
            stop()

    def _told(self) -> None:
        self.is_wanted = True
        if self._stop is not None:
            self._stop()


async def _served(host: str, port: int, node: Node) -> asyncio.Server:
    try:
        return await serve_health(host or "127.0.0.1", port, node.problems)
    except (OSError, UnicodeError) as error:
        remedy = "use another --host or --port, or end the program that has it"
        why = f"{host}:{port} cannot be listened on ({error})"
        raise Conflict(f"{why}; {remedy}") from error
