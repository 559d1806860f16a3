"""Deleting schedules, also while an attempt runs."""

from __future__ import annotations

from functools import partial

import pytest

from harness.control.client import ControlClient, audit
from harness.engine.service import SteppedService, failing
from quarterjack import rules
from quarterjack.errors import Conflict, WrongState
from quarterjack.targets.call import Call
from quarterjack.times.instants import HOUR, MINUTE


async def work_for_ten_minutes(service: SteppedService, call: Call, *, fails: bool) -> None:
    await service.sleep(10 * MINUTE)
    if fails:
        failing(call)


def test_several_are_deleted_or_none(service: SteppedService, ada: ControlClient):
    for key in ("a", "b"):
        ada.add(key, every="1h")
    service.work = lambda call: service.sleep(30 * MINUTE) if call.key == "b" else None
    service.run_until("09:00")

    error = ada.refused("delete", 1, 2, 77, ignores_missing=True)
    assert (type(error), "run 2-0 is running" in str(error)) == (Conflict, True)
    service.run_until("09:31")
    assert len(ada("delete", 1, 2, 77, ignores_missing=True)) == 2


@pytest.mark.mission("P11")
class TestThoughRunning:
    """The attempt that runs is the last."""

    @pytest.mark.parametrize("ending", ["succeeded", "failed: deleted"])
    def test_the_running_attempt_is_the_last_however_it_ends(
        self, service: SteppedService, ada: ControlClient, ending: str
    ):
        ada.add(every="1h", max_retries="endless", retry_delay="1m", if_running="queue")
        service.work = partial(work_for_ten_minutes, service, fails=ending != "succeeded")
        service.run_until("09:05")
        assert service.states() == ["running"]

        (deleted,) = ada("delete", "nightly", though_running=True)

        assert (deleted.id, service.states()) == (1, ["running"]), "the attempt continues"
        assert ada.add("nightly", every="1d").id == 2, "its key is free"
        service.run_until("11:00")
        assert (service.states(), service.started()) == ([ending], ["1-0"])

    def test_a_run_whose_worker_dies_is_not_run_again(
        self, service: SteppedService, ada: ControlClient
    ):
        ada.add(every="1h")
        service.work = partial(work_for_ten_minutes, service, fails=False)
        service.run_until("09:05")
        ada("delete", 1, though_running=True)

        service.restart()
        service.run_until("11:00")

        assert (service.states(), service.started()) == (["lost: deleted"], ["1-0"])

    def test_all_are_deleted_even_if_one_of_them_runs(
        self, service: SteppedService, ada: ControlClient
    ):
        ada.add("idle", every="1d")
        ada.add("busy", every="1h")
        service.work = partial(work_for_ten_minutes, service, fails=False)
        service.run_until("09:05")

        deleted = ada("delete", 1, 2, 77, ignores_missing=True, though_running=True)

        assert [each.id for each in deleted] == [1, 2]
        assert [entry.verb for entry in audit(service)][-2:] == ["delete", "delete"]


def test_a_run_of_a_deleted_schedule_is_not_retried(service: SteppedService, ada: ControlClient):
    ada.add(every="1h")
    service.work = failing
    service.run_until("09:01")
    ada("delete", 1)
    service.run_until("11:00")

    error = ada.refused("retry", "1-0")

    assert (type(error), error.status) == (WrongState, 400)
    assert str(error) == 'schedule "nightly" was deleted; add it again'


def test_a_running_attempt_of_a_deleted_schedule_can_be_cancelled(
    service: SteppedService, ada: ControlClient
):
    ada.add(every="1h")
    service.work = lambda call: service.sleep(5 * HOUR)
    service.run_until("09:01")
    service.change(1, partial(rules.delete, though_running=True))

    assert ada("cancel", "1-0").cancel == "requested"
    service.run_until("09:02")

    assert service.states() == ["cancelled: requested"]
    entry = audit(service)[-1]
    assert (entry.before, entry.after) == (
        {"run": "1-0", "state": "running"},
        {"run": "1-0", "state": "running", "cancel": "requested"},
    )
