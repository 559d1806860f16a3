"""Wiring: the one place where the parts are put together for the real world."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Mapping

from quarterjack.api.health import serve_health
from quarterjack.clock import SystemClock, process_name
from quarterjack.control import recover
from quarterjack.declare.applying import apply
from quarterjack.declare.declaration import Declaration
from quarterjack.declare.keeper import Keeper
from quarterjack.engine.node import Node
from quarterjack.errors import Conflict, StoreAway
from quarterjack.store.contract import Store
from quarterjack.store.sqlite import SqliteStore
from quarterjack.store.sqlite_file import open_database, path_of
from quarterjack.targets.call import Target
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.task import Function, TaskTarget
from quarterjack.telemetry.logs import log, speak, told

_RETRY_SECONDS = 1.0


def open_store(url: str, clock: SystemClock, durability: str = "full") -> Store:
    """The store at this address; a database is made where there is none."""
    path = path_of(url)
    connection = open_database(path, now=clock.now(), create=True, durability=durability)
    return SqliteStore(connection, path, clock)


def targets(tasks: Mapping[str, Function]) -> dict[str, Target]:
    """Every kind of target, by its name."""
    return {"task": TaskTarget(tasks), "command": CommandTarget()}


def up(
    clock: SystemClock,
    declaration: Declaration,
    database: str,
    *,
    host: str,
    port: int,
    loglevel: str,
) -> None:
    """Run the whole service until it is told to stop."""
    speak(loglevel)
    asyncio.run(_up(clock, declaration, database, host, port))


async def _up(
    clock: SystemClock, declaration: Declaration, database: str, host: str, port: int
) -> None:
    told_to_stop = _Stop()
    store = await _opened(database, clock, declaration.settings.durability, told_to_stop)
    if store is None:
        return
    try:
        await apply(store, declaration, clock.now())
        await recover(store, declaration.limits, clock.now())
        worker = process_name()
        node = Node(store, targets({}), clock, declaration.manner(worker))
        node.add(Keeper(store, declaration))
        told_to_stop.then(node.stop)
        async with await _served(host, port, node) as server:
            address = "{}:{}".format(*server.sockets[0].getsockname()[:2])
            log.info("up %s", told(database=database, worker=worker, at=address))
            gc.collect()
            gc.freeze()  # what was loaded to start with lives as long as we do
            await node.run()
    finally:
        await store.close()
    log.info("stopped")


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


async def _opened(
    database: str, clock: SystemClock, durability: str, told_to_stop: _Stop
) -> Store | None:
    """A store that is away for now is waited for."""
    while not told_to_stop.is_wanted:
        try:
            return await asyncio.to_thread(open_store, database, clock, durability)
        except StoreAway as error:
            log.warning("waiting: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
    return None


async def _served(host: str, port: int, node: Node) -> asyncio.Server:
    try:
        return await serve_health(host, port, node.problems)
    except OSError as error:
        remedy = "use another with --port, or end the program that has it"
        why = f"{host}:{port} cannot be listened on ({error.strerror or error})"
        raise Conflict(f"{why}; {remedy}") from error
