"""The worker: concurrency, settlements that fail, and claims of a run it has lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.engine.service import SteppedService, failing
from quarterjack.errors import StoreUnavailable
from quarterjack.times.instants import MINUTE, SECOND


@pytest.fixture
def service(sqlite_service: SteppedService) -> SteppedService:
    return sqlite_service


def test_an_outcome_that_cannot_be_stored_is_settled_without_its_result_and_others_go_on(
    service: SteppedService,
):
    service.add("bad", every="1h")
    service.add("good", every="1h")
    service.execute(
        "create trigger picky before update on runs when new.error = 'Failed: boom'"
        " begin select raise(abort, 'not this one'); end"
    )
    service.work = lambda call: None if call.key == "good" else failing(call)
    with pytest.raises(Exception, match="not this one"):
        service.run_until("09:00")
    for _ in range(3):
        service.hint("worker")
        try:
            service.run_until("09:00:01")
        except Exception as error:
            assert "not this one" in str(error)

    assert service.states(2) == ["succeeded"]
    assert service.runs(1)[0].error == "its outcome could not be stored: Violation"


def test_a_worker_runs_no_more_at_once_than_its_concurrency():
    service = SteppedService(concurrency=2)
    try:
        for key in "abcde":
            service.add(key, every="1h")
        service.work = lambda call: service.sleep(MINUTE)
        service.run_until("09:00:30")
        assert len(service.workers["w1"].running) == 2
        service.run_until("09:05")
        assert {service.states(identity)[0] for identity in range(1, 6)} == {"succeeded"}
    finally:
        service.close()


def test_the_next_attempt_of_a_run_waits_until_the_last_one_has_ended(service: SteppedService):
    """The run was requeued by another node while its first attempt was still ending."""
    service.add(every="1h")
    ended: list[int] = []

    async def slow_to_end(call: Any) -> None:
        try:
            await service.sleep(10 * MINUTE)
        except asyncio.CancelledError:
            await service.sleep(30 * SECOND)
            raise
        finally:
            ended.append(call.attempt)

    service.work = slow_to_end
    service.run_until("09:00")
    service.execute("update runs set state = 'queued', worker = null, lease_until = null")
    service.hint("worker")
    service.run_until("09:00:10")
    assert [call.attempt for _, call in service.calls] == [1]
    assert {attempt for _, attempt in service.workers["w1"].running} == {1, 2}
    service.run_until("09:30")

    assert ended == [1, 2]
    assert service.states() == ["succeeded"]


@pytest.mark.fault("F65", "F17")
@pytest.mark.parametrize(
    "lost", [1, 2, 0], ids=["next number", "number after that", "same number after a failover"]
)
def test_a_worker_that_claims_its_own_lost_run_stops_the_lost_attempt(
    service: SteppedService, lost: int
):
    """Renewals fail while claims succeed: another node has settled the attempt as lost."""
    service.add(every="1h")
    stopped: list[int] = []

    async def endless(call: Any) -> None:
        try:
            await service.sleep(10 * MINUTE)
        except asyncio.CancelledError:
            stopped.append(call.attempt)
            raise

    service.work = endless
    service.run_until("09:00")
    del service.processes["lease renewer w1"]
    service.execute(
        f"update runs set state = 'queued', attempt = {lost}, worker = null, lease_until = null"
    )
    service.hint("worker")
    service.run_until("09:00:10")

    assert stopped == [1]
    assert set(service.workers["w1"].running) == {("1-0", lost + 1)}
    service.run_until("09:30")
    assert service.states() == ["succeeded"]


@pytest.mark.fault("F17")
@pytest.mark.parametrize("meanwhile", ["claims", "settles"])
def test_an_attempt_claimed_again_after_a_failover_is_not_settled_by_the_lost_one(
    service: SteppedService, meanwhile: str
):
    """The lost attempt ends while the same number is claimed again, or its settlement is lost."""
    service.add(every="1h")
    store, ends = service.store, service.loop.create_future()
    claim_runs, settle_runs = store.claim_runs, store.settle_runs

    async def work(call: Any) -> Any:
        if len(service.calls) == 1:
            return await ends
        await service.sleep(10 * MINUTE)
        return "second"

    def fail_over() -> None:
        store.claim_runs, store.settle_runs = claim_runs, settle_runs
        service.execute(
            "update runs set state = 'queued', attempt = 0, worker = null, lease_until = null"
        )

    async def claim_while_it_ends(*values: Any) -> Any:
        fail_over()
        (lost,) = service.workers["w1"].running.values()
        ends.set_result("first")
        await lost.task
        return await claim_runs(*values)

    async def lose_the_connection(*_: Any) -> Any:
        fail_over()
        raise StoreUnavailable("the connection was lost")

    service.work = work
    service.run_until("09:00")
    service.hint("worker")
    if meanwhile == "claims":
        store.claim_runs = claim_while_it_ends
        service.run_until("09:01")
    else:
        store.settle_runs = lose_the_connection
        ends.set_result("first")
        with pytest.raises(StoreUnavailable):
            service.run_until("09:01")
        service.hint("worker")
        service.run_until("09:02")

    assert service.states() == ["running"]
    service.run_until("09:30")
    assert service.states() == ["succeeded"]
    assert service.runs()[0].result == "second"
