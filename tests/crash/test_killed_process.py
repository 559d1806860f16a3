"""Kill -9 at every step of a run: the short form of `make crash`."""

from __future__ import annotations

import pytest

from harness.crash.kills import (
    FAILPOINTS,
    RealService,
    check_history,
    killed_at,
    killed_at_random,
    wait_for,
)

pytestmark = pytest.mark.unmeasured


FAULTS = {
    "plan.read": "F1",
    "plan.begun": "F1",
    "plan.inserted": "F1",
    "plan.advanced": "F1",
    "plan_due.committing": "F1",
    "plan_due.committed": "F2",
    "claim.written": "F3",
    "claim_runs.committing": "F3",
    "claim_runs.committed": "F4",
    "launch.before": "F4",
    "launch.after": "F5",
    "renew_leases.committed": "F6",
    "attempt.ended": "F7",
    "output.written": "F7",
    "settle.written": "F7",
    "settle_runs.committing": "F7",
    "settle_runs.committed": "F8",
    "notifications.delivered": "F8",
    "prune.written": "F9",
}


def test_every_step_of_a_run_has_a_failpoint():
    steps = {int(step[1:]) for step in FAILPOINTS.values()}

    assert steps == set(range(1, 18)) - {10}, "no process id is stored"
    assert FAULTS.keys() == FAILPOINTS.keys()


@pytest.mark.parametrize(
    "failpoint", [pytest.param(each, marks=pytest.mark.fault(FAULTS[each])) for each in FAILPOINTS]
)
@pytest.mark.mission("V3", "V10")
def test_no_slot_is_missed_doubled_or_early_after_a_kill_there(
    service: RealService, failpoint: str
):
    counts = killed_at(service, f"{failpoint}:1")

    assert counts["steady: succeeded"] >= 2


@pytest.mark.fault("F8")
def test_a_notification_is_sent_again_after_a_crash(service: RealService):
    killed_at(service, "settle_runs.committed:1", "notifications.delivered:1")

    assert service.query("select count(*) from outbox where sent_at is null") == [(0,)]
    sent = [line for line in service.log().splitlines() if " notification=1 " in line]
    assert len(sent) >= 2, "before the second crash, and again after it"


@pytest.mark.fault("F10")
def test_repeated_kills_at_random_instants_lose_and_double_nothing(service: RealService):
    counts = killed_at_random(service, kills=6, seed=7)

    assert counts["steady: succeeded"] > 5


@pytest.mark.fault("F14")
@pytest.mark.mission("H10")
def test_no_attempt_is_lost_by_repeated_restarts_under_load(service: RealService):
    for _ in range(3):
        process = service.start()
        before = service.succeeded("slow")
        wait_for(lambda before=before: service.succeeded("slow") > before, 20, "it works")  # type: ignore[misc]
        service.stop(process)
    process = service.up()
    wait_for(service.has_caught_up, 20, "it catches up")
    service.stop(process)

    counts = check_history(service)

    assert not [state for state in counts if "lost" in state]
    assert service.query(
        "select count(*) from attempts where ending = 'lost' and handed_back = 0"
    ) == [(0,)]
