"""A PostgreSQL server that refuses connections or never answers: a start in another program says
why it waits and gives up, and a stop ends the wait."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import wait_for
from harness.store.server import free_port
from quarterjack import Quarterjack
from quarterjack.errors import Conflict, InvalidSpecification, StoreUnavailable
from quarterjack.store.postgres.connection import CONNECT_SECONDS

pytestmark = pytest.mark.fault("F21")
SECONDS = 30
"""Far more than anything here takes; what ends because of it has failed."""
NAME = "the waiting program"


def app_on(port: int) -> Quarterjack:
    return Quarterjack(f"postgresql://ada:s3cret@127.0.0.1:{port}/shop", name=NAME)


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(SECONDS)
        yield listener


@pytest.fixture
def logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(logging.getLogger("quarterjack"), "propagate", True)
    caplog.set_level("INFO", "quarterjack")
    return caplog


def engine_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "quarterjack"]


def test_a_start_gives_up_after_its_timeout_and_says_what_it_cannot_reach(
    logged: pytest.LogCaptureFixture,
):
    port = free_port()
    app = app_on(port)

    for _ in range(2):
        with pytest.raises(StoreUnavailable) as error:
            app.start(timeout=0.5)
        assert "s3cret" not in str(error.value)
        assert re.match(
            rf"not started, gave up after \d+ s: database postgresql://127.0.0.1:{port}/shop: "
            r"cannot be reached \(",
            str(error.value),
        )
        assert str(error.value).endswith("; check the address, and whether the server is running")
        assert engine_threads() == []

    (first, _) = (each for each in logged.messages if each.startswith("waiting for the store"))
    assert f"retrying waited=0s: database postgresql://127.0.0.1:{port}/shop" in first
    assert "s3cret" not in logged.text


def test_a_start_gives_up_on_a_server_that_never_answers(silent: socket.socket):
    app = app_on(silent.getsockname()[1])

    with pytest.raises(StoreUnavailable, match=r"gave up after \d+ s: .*no answer within"):
        app.start(timeout=0)

    assert engine_threads() == []


def test_a_stop_ends_a_start_that_waits_for_an_answer(silent: socket.socket):
    app = app_on(silent.getsockname()[1])
    with ThreadPoolExecutor(1) as threads:
        start = threads.submit(app.start, timeout=None)
        connection, _ = silent.accept()
        before = time.monotonic()
        app.stop()
        took = time.monotonic() - before

        assert took < CONNECT_SECONDS - 1, "it does not wait for the answer"
        with pytest.raises(Conflict, match=r"stop\(\) was called before the start was complete"):
            start.result(SECONDS)
        connection.close()

    assert engine_threads() == []


def test_the_cancellation_of_a_lifespan_ends_its_wait(logged: pytest.LogCaptureFixture):
    app = app_on(free_port())

    async def enter() -> None:
        async with app.lifespan(timeout=None):
            pass

    async def main() -> None:
        entering = asyncio.create_task(enter())
        await asyncio.to_thread(wait_for, lambda: "waiting for" in logged.text, SECONDS, "it waits")
        entering.cancel()
        await asyncio.wait([entering], timeout=SECONDS)
        assert entering.cancelled()

    asyncio.run(main())

    assert engine_threads() == []


def test_lifespan_gives_up_after_its_timeout():
    app = app_on(free_port())

    async def main() -> None:
        async with app.lifespan(timeout=0):
            pass

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        asyncio.run(main())


@pytest.mark.parametrize("timeout", [-1, True, float("nan"), "30s"])
def test_a_timeout_that_is_not_a_number_of_seconds_is_refused(timeout: Any):
    with pytest.raises(InvalidSpecification, match=r"timeout .* is not a number of seconds"):
        app_on(1).start(timeout=timeout)


def test_a_program_of_its_own_waits_without_a_limit_and_a_signal_ends_it(tmp_path: Path):
    text = "from quarterjack import Quarterjack\nQuarterjack({!r}, name='x').run(port=0)\n"
    (tmp_path / "program.py").write_text(
        text.format(f"postgresql://ada:s3cret@127.0.0.1:{free_port()}/shop")
    )
    log = tmp_path / "log.txt"
    with log.open("w") as output:
        program = subprocess.Popen(
            [sys.executable, "program.py"], cwd=tmp_path, stderr=output, stdout=output
        )
    try:
        wait_for(lambda: "waiting for the store" in log.read_text(), SECONDS, "it waits")
        assert program.poll() is None
        program.send_signal(signal.SIGTERM)
        assert program.wait(SECONDS) == 0
    finally:
        program.kill()
        program.wait(SECONDS)
    assert "s3cret" not in log.read_text()
