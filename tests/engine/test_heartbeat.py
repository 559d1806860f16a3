"""The heartbeat: it passes on what there is to do, and reports a wrong host clock once."""

from __future__ import annotations

import asyncio

import pytest

from harness.engine.service import OneLoop
from harness.rules.values import at
from harness.store.stored_world import ManualClock, memory_store
from quarterjack.engine.heartbeat import Heartbeat
from quarterjack.store.types import HeartbeatResult
from quarterjack.times.instants import MINUTE, SECOND


def steps(*results: HeartbeatResult) -> list[tuple[str, int | None]]:
    """The hints of steps whose heartbeats have these results."""
    store, hints, answers = memory_store(ManualClock(at("08:00"))), [], list(results)

    async def heartbeat() -> HeartbeatResult:
        return answers.pop(0)

    def hint(name: str, by: int | None = None) -> None:
        hints.append((name, by))

    store.heartbeat = heartbeat  # type: ignore[method-assign]
    process = Heartbeat(store, 5 * SECOND, hint, OneLoop(ManualClock()))
    for _ in results:
        assert asyncio.run(process.step(at("08:00"))) == at("08:00:05")
    return hints


def test_it_hints_at_processes_that_may_have_missed_a_notification():
    found = steps(
        HeartbeatResult(at("08:01"), True, at("08:02")), HeartbeatResult(None, False, None)
    )

    assert found == [("planner", at("08:01")), ("worker", None), ("lease rescuer", at("08:02"))]


def test_a_clock_difference_is_logged_when_it_changes(caplog: pytest.LogCaptureFixture):
    ahead = (0, MINUTE, MINUTE, 2 * MINUTE, 0, 0)
    with caplog.at_level("INFO", "quarterjack"):
        steps(*(HeartbeatResult(None, False, None, each) for each in ahead))

    assert [line.getMessage() for line in caplog.records] == [
        "the host clock differs from the database clock seconds=+60.0",
        "the host clock differs from the database clock seconds=+120.0",
        "the host clock matches the database clock again",
    ]
