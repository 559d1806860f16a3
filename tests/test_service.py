"""A service inside another program: it runs on a loop in a thread, and leaves the process alone."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from harness.declare.declarations import declared_values
from quarterjack.api.health import serve_health
from quarterjack.cli.database_option import Database
from quarterjack.cli.runtime import Runtime
from quarterjack.clock import SystemClock
from quarterjack.errors import Conflict
from quarterjack.rules.definition.capabilities import Capabilities
from quarterjack.service import Service
from quarterjack.store.reader import Reader
from quarterjack.store.types import NodeInfo
from quarterjack.targets.kinds import KINDS

HOURLY = {"hourly": {"every": "1h", "first_run": "now", "command": ["true"]}}


def service(folder: Path, **roles: bool) -> Service:
    serve = partial(serve_health, "127.0.0.1", 0)
    declaration = declared_values(schedules=HOURLY)
    return Service(SystemClock(), declaration, f"sqlite:///{folder}/q.db", serve, **roles)


@contextmanager
def running(service: Service) -> Iterator[asyncio.AbstractEventLoop]:
    """On a loop in a thread, from ready to stopped."""
    loop, ready = asyncio.new_event_loop(), threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            loop.run_until_complete(service.run(ready.set))
        except BaseException as error:
            errors.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(30)
    try:
        yield loop
    finally:
        if not errors:
            loop.call_soon_threadsafe(service.stop)
        thread.join(30)
        loop.close()
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def state_of_process() -> tuple[object, ...]:
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)]
    loggers = [logging.getLogger(name) for name in ("", "quarterjack", "asyncio")]
    logs = [(tuple(each.handlers), each.level, each.propagate) for each in loggers]
    return handlers, logs, gc.get_freeze_count(), gc.isenabled(), gc.get_threshold()


def test_a_service_changes_no_signal_handler_log_or_garbage_collector(tmp_path: Path):
    before = state_of_process()

    with running(service(tmp_path)):
        during = state_of_process()

    assert during == before
    assert state_of_process() == before


def test_a_service_can_be_started_again_after_it_was_stopped(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/q.db"
    for _ in range(2):
        with running(service(tmp_path)):
            assert nodes(url) == [(True, True, ["command", "task"])]
        assert nodes(url) == []


def test_a_service_that_is_stopped_before_it_is_ready_returns(tmp_path: Path):
    stopped = service(tmp_path)
    stopped.stop()

    asyncio.run(asyncio.wait_for(stopped.run(), 30))

    assert not (tmp_path / "q.db").exists()


def test_a_start_that_cannot_bind_changes_nothing(tmp_path: Path):
    url = f"sqlite:///{tmp_path}/q.db"
    with running(service(tmp_path)):
        pass
    other = declared_values(name="other", schedules={"other": HOURLY["hourly"]})

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        serve = partial(serve_health, "127.0.0.1", port)
        blocked = Service(SystemClock(), other, url, serve)
        with pytest.raises(Conflict, match=f"cannot bind 127.0.0.1:{port}"):
            asyncio.run(blocked.run())

    database = Database(Runtime(), url, None)
    database.with_control(lambda control: control.pause("hourly"))
    assert list(statuses(url).items()) == [("hourly", "paused")]


def statuses(url: str) -> dict[str, str]:
    reader = Reader(url, KINDS)
    found = {found.schedule.key: str(found.schedule.status) for found in reader.schedules()}
    reader.close()
    return found


def kinds(node: NodeInfo) -> list[str]:
    capabilities = Capabilities.from_text(node.capabilities)
    assert capabilities is not None
    return sorted(capabilities.names)


def nodes(url: str) -> list[tuple[bool, bool, list[str]]]:
    reader = Reader(url, KINDS)
    found = [(each.plans, each.works, kinds(each)) for each in reader.nodes()]
    reader.close()
    return found
