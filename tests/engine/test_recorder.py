"""The recorder: output of running attempts is stored once a second, or as soon as there is much."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from harness.engine.service import Failed, SteppedService
from harness.rules.values import at
from quarterjack.engine.output import CHUNK_BYTES, HEAD_BYTES, TAIL_BYTES
from quarterjack.store.output_lines import Line, lines_of
from quarterjack.store.types import Chunk
from quarterjack.targets.call import Call
from quarterjack.times.instants import HOUR, MINUTE, SECOND


@pytest.mark.parametrize(
    ("data", "before", "after"),
    [(b"a little", 0, 1), (b"x" * CHUNK_BYTES, 1, 1)],
    ids=["a little", "a full chunk"],
)
def test_output_is_stored_while_the_attempt_runs(
    sqlite_service: SteppedService, data: bytes, before: int, after: int
):
    service = sqlite_service

    async def work(call: Call) -> Any:
        call.write(data)
        await service.sleep(10 * MINUTE)

    service.add(every="1h")
    service.work = work
    service.run_until("09:00:00")
    assert len(service.table("output")) == before

    service.run_until("09:00:01")

    assert len(service.table("output")) == after
    assert service.states() == ["running"]


class SlowStore:
    """A store in which an attempt writes while its output is being stored."""

    def __init__(self, service: SteppedService, meanwhile: Callable[[], None]) -> None:
        self.store = service.store
        self.meanwhile = meanwhile

    async def add_output(self, *reports: Any) -> None:
        await self.store.add_output(*reports)
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()


@pytest.mark.fault("F51")
def test_output_that_is_written_during_a_store_call_is_stored_a_second_later(
    sqlite_service: SteppedService,
):
    service = sqlite_service

    async def work(call: Call) -> Any:
        call.write(b"first\n")
        await service.sleep(10 * MINUTE)

    service.add(every="1h")
    service.work = work
    service.run_until("09:00:00")
    recorder = service.processes["recorder w1"]
    call = service.calls[0][1]
    recorder._store = SlowStore(service, lambda: call.write(b"second\n"))  # type: ignore[attr-defined]

    service.run_until("09:00:01")
    assert stored(service) == b"first\n"
    service.run_until("09:00:02")

    assert stored(service) == b"first\nsecond\n"


def stored(service: SteppedService) -> bytes:
    return b"".join(row[5] for row in service.table("output"))


@pytest.mark.fault("F51")
def test_beyond_the_head_the_store_has_the_last_output_at_any_time(sqlite_service: SteppedService):
    service = sqlite_service

    async def work(call: Call) -> Any:
        for second in range(20):
            call.write(b"%07d\n" % second * 16384)
            await service.sleep(SECOND)

    service.add(every="1h")
    service.work = work
    data = b""
    for second in (2, 10, 19):
        service.run_until(f"09:00:{second + 1:02}")
        data = stored(service)

        assert int(data[-8:]) >= second
        assert len(data) <= HEAD_BYTES + TAIL_BYTES
        assert data[:8] == b"0000000\n"
    service.run_until("09:00:30")
    assert (service.states(), stored(service)) == (["succeeded"], data)


def progress(service: SteppedService) -> list[Any]:
    return [row[3:] for row in service.table("progress")]


def test_progress_and_a_new_timeout_are_stored_within_a_second_and_at_the_end(
    sqlite_service: SteppedService,
):
    service = sqlite_service

    async def work(call: Call) -> Any:
        call.control.report(0.25, "a quarter\0\udcff")
        await service.sleep(10 * SECOND)
        for number in range(100):
            call.control.report(number / 100, "more")
        call.control.extend(HOUR)
        await service.sleep(2 * SECOND)
        call.control.report(1, "everything")

    service.add(every="1h", timeout="1m")
    service.work = work
    service.run_until("09:00:01")
    assert progress(service) == [(at("09:00"), 0.25, "a quarter\N{REPLACEMENT CHARACTER}?", None)]
    service.run_until("09:00:11")
    (when, fraction, text, times_out_at) = progress(service)[0]
    assert (when, fraction, text) == (at("09:00:10"), 0.99, "more")
    assert times_out_at > at("09:30"), "an hour from then, by the clock of this host"

    service.run_until("09:00:12")

    assert progress(service) == [(at("09:00:12"), 1, "everything", times_out_at)]


def test_an_attempt_that_reports_nothing_costs_no_store_call(sqlite_service: SteppedService):
    service, calls = sqlite_service, []
    add_output = service.store.add_output

    async def record(*reports: Any) -> None:
        calls.append(reports)
        await add_output(*reports)

    service.store.add_output = record
    service.add(every="1h")
    service.run_until("12:00")

    assert (service.states(), calls) == (["succeeded"] * 4, [])


def test_lines_have_the_level_and_the_time_they_were_written_with_and_a_traceback_is_an_error(
    sqlite_service: SteppedService,
):
    service = sqlite_service

    async def work(call: Call) -> Any:
        call.write(b"careful\n", logging.WARNING)
        await service.sleep(2 * MINUTE)
        call.write(b"plain\n")
        raise Failed("boom")

    service.add(every="1h")
    service.work = work
    service.run_until("09:02")
    found = lines_of(map(Chunk._make, service.table("output")))
    lines = [line for line in found if isinstance(line, Line)]

    assert lines[:2] == [
        Line(1, at("09:00"), logging.WARNING, "careful"),
        Line(1, at("09:02"), 0, "plain"),
    ]
    assert {line.level for line in lines[2:]} == {logging.ERROR}
    assert lines[-1].text.endswith("Failed: boom")
