"""The recorder: output of running attempts is stored once a second, or as soon as there is much."""

from __future__ import annotations

from typing import Any

import pytest

from harness.engine.service import SteppedService
from quarterjack.engine.output import CHUNK_BYTES
from quarterjack.targets.call import Call
from quarterjack.times.instants import MINUTE


@pytest.mark.parametrize(
    ("data", "before", "after"), [(b"a little", 0, 1), (b"x" * CHUNK_BYTES, 1, 1)]
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
