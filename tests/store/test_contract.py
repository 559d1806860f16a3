"""What every store promises, in the words of its contract."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.rules.world import at
from harness.store.stores import STORES, Asking, asking, connection, new, query, statements
from quarterjack import rules
from quarterjack.errors import Conflict, NotFound, Violation, WrongState
from quarterjack.rules import Ending, Facts, Plans, Reason, Retention, State, Status
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.store import SqliteStore
from quarterjack.store.statements import sql
from quarterjack.store.transactions.retention import Pruned, PruneProgress
from quarterjack.store.types import (
    Caller,
    Chunk,
    Day,
    DeclarationRules,
    Declared,
    Difference,
    NewSchedule,
    RunCursor,
    StoredSchedule,
)
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

NOTHING_FORGOTTEN = Retention(None, None, None, None, None, None)


@pytest.fixture(params=STORES)
def ask(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asking]:
    with asking(request.param, tmp_path) as caller:
        yield caller


def reads(ask: Asking) -> Reader:
    return ask.reads


def states(ask: Asking, which: str = "nightly") -> list[str]:
    return [str(found.run.state) for found in reversed(reads(ask).runs(which))]


def started(ask: Asking, **fields: object) -> rules.Run:
    """A run of a new schedule, claimed."""
    ask.add(every="1h", **fields)
    ask.go("09:00")
    ask.plan()
    (claim,) = ask.claim()
    return claim.run


class TestPlanning:
    def test_a_due_slot_is_added_once_however_often_it_is_planned(self, ask: Asking):
        ask.add(every="1h")
        ask.go("09:00")

        first, second = ask.plan(), ask.plan()

        assert (first.looked_at, first.added, first.next_wake) == (1, 1, at("10:00"))
        assert (second.looked_at, second.added, second.next_wake) == (0, 0, at("10:00"))
        assert states(ask) == ["queued"]

    def test_what_is_not_due_is_not_looked_at(self, ask: Asking):
        ask.add(every="1h")
        ask.go("08:59:59")

        assert ask.plan().looked_at == 0

    def test_the_limit_leaves_the_rest_for_the_next_step(self, ask: Asking):
        ask.add_all([new(f"s{number}", ask.now, every="1h") for number in range(5)])
        ask.go("09:00")

        assert [ask.plan(limit=2).looked_at for _ in range(3)] == [2, 2, 1]

    @pytest.mark.fault("F46")
    def test_the_urgent_go_before_a_herd_and_what_can_wait_comes_last(self, ask: Asking):
        ask.add("patient", cron="1 9 * * *", priority=-1)
        ask.add_all([new(f"herd{number}", ask.now, cron="2 9 * * *") for number in range(4)])
        ask.add("urgent", cron="3 9 * * *", priority=1)
        edited = new("herd0", ask.now, cron="4 9 * * *", priority=7).specification
        ask.change(2, lambda facts, now: rules.edit(facts, edited, now))
        ask.plan()
        ask.go("09:05")
        turns: list[list[str]] = []

        def decide(facts: Facts, now: int) -> Plans:
            turns.append([schedule.key for schedule in facts.schedules])
            return rules.plan(facts, now)

        while ask(ask.store.plan_due(ask.now, 2, decide)).looked_at == 2:
            pass

        assert turns == [["urgent", "herd0"], ["herd1", "herd2"], ["herd3", "patient"]]

    def test_a_rule_that_fails_changes_nothing(self, ask: Asking):
        ask.add(every="1h")
        ask.go("09:00")

        def broken(facts: Facts, now: int) -> Plans:
            raise ZeroDivisionError("in the middle")

        with pytest.raises(ZeroDivisionError):
            ask(ask.store.plan_due(ask.now, 10, broken))

        assert ask.plan().added == 1

    def test_a_plan_that_violates_the_identity_of_a_slot_is_undone_whole(self, ask: Asking):
        identity = ask.add(every="1h")
        ask.go("09:00")
        ask.plan()
        first = reads(ask).run(f"{identity}-0")[0].run
        ask.go("10:00")

        def twice(facts: Facts, now: int) -> Plans:
            plans = rules.plan(facts, now)
            (plan,) = plans.plans
            same_slot = plan.schedule._replace(planned_count=9)
            run = plan.added or [first]
            again = [run[0]._replace(number=8, slot=at("09:00"), state=State.QUEUED)]
            return plans._replace(plans=[plan._replace(schedule=same_slot, added=again)])

        with pytest.raises(Violation, match=r"(?i)unique"):
            ask(ask.store.plan_due(ask.now, 10, twice))

        assert states(ask) == ["queued"]
        assert reads(ask).schedule("nightly").schedule.planned_count == 1

    def test_a_specification_that_cannot_be_read_any_more_harms_only_its_schedule(
        self, ask: Asking
    ):
        ask.add("bad", every="1h")
        ask.add("good", every="1h")
        write(ask, "update specifications set body = '{\"every\": 7}' where schedule_id = 1")
        forget_known(ask)
        ask.go("09:00")

        ask.plan()

        bad, good = reads(ask).schedule("bad").schedule, reads(ask).schedule("good").schedule
        assert (bad.status, good.status) == (Status.INVALID, Status.ACTIVE)
        assert "InvalidSpecification" in (bad.status_reason or "")
        assert states(ask, "good") == ["queued"]
        assert states(ask, "bad") == []

    def test_a_specification_that_is_gone_says_so(self, ask: Asking):
        ask.add(every="1h")
        write(ask, "delete from specifications")
        forget_known(ask)
        ask.go("09:00")

        ask.plan()

        reason = reads(ask).schedule("nightly").schedule.status_reason
        assert reason == "LookupError: its specification is gone"

    def test_looking_in_vain_writes_nothing_for_a_while(self, ask: Asking):
        """Else two processes on one database would wake each other for ever."""
        ask.plan()
        before = changes(ask)
        for _ in range(3):
            ask.plan()

        assert changes(ask) == before
        ask.clock.instant += 20 * SECOND
        ask.plan()
        assert changes(ask) > before


def write(ask: Asking, statement: str) -> None:
    """As somebody with a database browser would."""
    query(ask, statement)


def forget_known(ask: Asking) -> None:
    """As a process that starts anew."""
    ask.store._known._kept.clear()


def changes(ask: Asking) -> int:
    """A number that grows with each that is written."""
    if isinstance(ask.store, SqliteStore):
        return int(connection(ask).total_changes())
    tables = (
        "schedules",
        "runs",
        "events",
        "audit",
        "planner_state",
        "specifications",
        "slots_not_run",
    )
    found = [query(ask, f"select max(xmin::text::bigint) from {table}") for table in tables]
    return max(newest or 0 for ((newest,),) in found)


class TestClaiming:
    def test_a_run_is_given_to_one_worker(self, ask: Asking):
        ask.add(every="1h")
        ask.go("09:00")
        ask.plan()

        (claim,) = ask.claim("w1")

        assert ask.claim("w2") == []
        run = claim.run
        assert (run.state, run.attempt, run.worker) == (State.RUNNING, 1, "w1")
        assert (run.started_at, run.lease_until) == (ask.now, ask.now + 10 * SECOND)
        assert reads(ask).run(run.id)[0].run == run

    def test_the_most_urgent_come_first_and_then_the_oldest(self, ask: Asking):
        ask.add("low", every="1h")
        ask.add("high", every="1h", priority=5)
        ask.add("older", every="50m", priority=5)
        ask.go("09:00")
        ask.plan()

        order = [ask.claim(seats=1)[0].key for _ in range(3)]

        assert order == ["older", "high", "low"]

    def test_those_that_are_as_old_come_in_the_order_of_their_schedules(self, ask: Asking):
        first, second = ask.add("first", every="1h"), ask.add("second", every="1h")
        ask.change(second, rules.run_now)
        ask.change(first, rules.run_now)

        assert [claim.key for claim in ask.claim()] == ["first", "second"]

    def test_only_the_queues_that_were_asked_for(self, ask: Asking):
        ask.add("a", every="1h")
        ask.add("b", every="1h", queue="reports")
        ask.go("09:00")
        ask.plan()

        assert [claim.key for claim in ask.claim(queues=["reports"])] == ["b"]
        assert [claim.key for claim in ask.claim(queues=["reports", "default"])] == ["a"]

    def test_what_is_not_ready_waits_and_the_answer_says_for_how_long(self, ask: Asking):
        ask.add(every="1h", max_retries=1, retry_delay="5m")
        ask.go("09:00")
        ask.plan()
        (claim,) = ask.claim()
        ask.settle((claim.run, ask.outcome("failed")))

        claimed = ask(ask.store.claim_runs("w1", ["default"], 5, ask.now + SECOND, ask.now))

        assert (list(claimed.claims), claimed.next_ready) == ([], at("09:05"))

    def test_without_a_seat_left_the_next_ready_is_known_too(self, ask: Asking):
        ask.add("a", every="1h")
        ask.add("b", every="1h")
        ask.go("09:00")
        ask.plan()

        claimed = ask(ask.store.claim_runs("w1", ["default"], 1, ask.now + SECOND, ask.now))

        assert (len(claimed.claims), claimed.next_ready) == (1, at("09:00"))

    def test_a_worker_is_told_whose_work_it_does(self, ask: Asking):
        ask.add(every="1h", payload={"n": 1})
        ask.go("09:00")
        ask.plan()
        (first,) = ask.claim()
        ask.settle((first.run, ask.outcome()))
        ask.go("10:00")
        ask.plan()

        (second,) = ask.claim()

        assert (first.key, first.last_success_at) == ("nightly", None)
        assert second.last_success_at == at("09:00")
        assert second.specification.payload == {"n": 1}

    def test_a_run_keeps_the_version_it_was_planned_with(self, ask: Asking):
        identity = ask.add(every="1h", payload={"n": 1})
        ask.go("09:00")
        ask.plan()
        changed = new("nightly", ask.now, every="1h", payload={"n": 2}).specification
        ask.change(identity, lambda facts, now: rules.edit(facts, changed, now))

        (claim,) = ask.claim()

        assert (claim.run.version, claim.specification.payload) == (1, {"n": 1})

    def test_runs_of_a_schedule_that_somebody_erased_never_start(self, ask: Asking):
        ask.add("gone", every="1h")
        ask.add("kept", every="1h")
        ask.go("09:00")
        ask.plan()
        write(ask, "delete from schedules where id = 1")

        assert [claim.key for claim in ask.claim()] == ["kept"]
        run = reads(ask).run("1-0")[0].run
        assert (run.state, run.reason) == (State.SKIPPED, Reason.DELETED)


class TestLeases:
    def test_a_renewal_moves_the_end_of_the_lease(self, ask: Asking):
        run = started(ask)
        later = ask.now + 20 * SECOND

        assert ask(ask.store.renew_leases("w1", [run], later)) == {(run.id, 1): None}
        assert reads(ask).run(run.id)[0].run.lease_until == later

    def test_a_renewal_answers_why_an_attempt_should_stop(self, ask: Asking):
        run = started(ask)
        ask.change(run.schedule_id, lambda facts, now: rules.cancel_run(facts, run, now))

        looked_at = ask(ask.store.look_at_leases("w1", [run]))
        kept = ask(ask.store.renew_leases("w1", [run], ask.now + SECOND))

        assert looked_at == kept == {(run.id, 1): Reason.REQUESTED}

    @pytest.mark.fault("F11")
    def test_who_lost_a_lease_is_not_believed_any_more(self, ask: Asking):
        run = started(ask)
        ask.clock.instant += 10 * SECOND
        ask.rescue()
        (again,) = ask.claim("w2")

        assert ask(ask.store.renew_leases("w1", [run], ask.now + HOUR)) == {}
        settled = ask.settle((run, ask.outcome()))

        assert (list(settled.settled), list(settled.fenced)) == ([], [run])
        assert reads(ask).run(run.id)[0].run == again.run

    @pytest.mark.fault("F4", "F6")
    def test_a_lapsed_lease_is_another_attempt_of_the_same_run(self, ask: Asking):
        run = started(ask)
        ask.clock.instant += 10 * SECOND - 1
        assert list(ask.rescue().lost) == []
        ask.clock.instant += 1

        rescued = ask.rescue()

        assert [each.id for each in rescued.lost] == [run.id]
        (claim,) = ask.claim("w2")
        assert (claim.run.id, claim.run.attempt, claim.run.losses) == (run.id, 2, 1)
        _, (attempt,) = reads(ask).run(run.id)
        assert (attempt.number, attempt.outcome.ending) == (1, Ending.LOST)
        assert attempt.outcome.error == "worker w1 was lost: its lease was not renewed"

    def test_those_that_lapse_together_are_lost_in_the_order_of_their_schedules(self, ask: Asking):
        first, second = ask.add("first", every="1h"), ask.add("second", every="1h")
        for which in (second, first):
            ask.change(which, rules.run_now)
            ask.claim()
        ask.clock.instant += 10 * SECOND

        assert [run.schedule_id for run in ask.rescue().lost] == [first, second]

    @pytest.mark.fault("F4")
    def test_at_most_once_is_lost_with_its_worker(self, ask: Asking):
        run = started(ask, execution="at_most_once")
        ask.clock.instant += 10 * SECOND

        ask.rescue()

        found = reads(ask).run(run.id)[0].run
        assert (found.state, found.reason) == (State.LOST, Reason.WORKER_LOST)
        assert ask.claim() == []

    def test_the_rescuer_is_told_when_the_next_lease_ends(self, ask: Asking):
        run = started(ask)

        assert ask.rescue().next_lease_end == run.lease_until
        ask.settle((run, ask.outcome()))
        assert ask.rescue().next_lease_end is None

    def test_an_attempt_whose_schedule_was_erased_is_closed_on_its_own(self, ask: Asking):
        run = started(ask)
        write(ask, "delete from schedules")
        ask.clock.instant += 10 * SECOND

        ask.rescue()

        found = reads(ask).run(run.id)[0].run
        assert (found.state, found.reason) == (State.LOST, Reason.INACTIVE)
        assert "not settled: KeyError" in (found.error or "")
        assert ask.rescue().next_lease_end is None


class TestSettling:
    def test_success_is_counted_and_shown(self, ask: Asking):
        run = started(ask)

        settled = ask.settle((run, ask.outcome(result={"rows": 3})))

        assert [each.state for each in settled.settled] == [State.SUCCEEDED]
        found = reads(ask)
        assert found.run(run.id)[0].run.result == {"rows": 3}
        assert found.schedule("nightly").schedule.run_count == 1

    def test_an_attempt_is_settled_once(self, ask: Asking):
        run = started(ask)
        ask.settle((run, ask.outcome()))

        again = ask.settle((run, ask.outcome("failed")))

        assert list(again.fenced) == [run]
        assert reads(ask).schedule("nightly").schedule.error_count == 0

    def test_nothing_to_say_is_said_without_harm(self, ask: Asking):
        assert ask(ask.store.mark_sent([], ask.now)) is None
        assert ask(ask.store.add_output([])) is None

    def test_an_outcome_told_twice_in_one_batch_is_settled_once(self, ask: Asking):
        run = started(ask)

        settled = ask.settle((run, ask.outcome()), (run, ask.outcome()))

        assert (len(settled.settled), len(settled.fenced)) == (1, 1)

    def test_of_several_attempts_that_ended_only_the_last_counts(self, ask: Asking):
        """A worker could not settle, lost the run, and claimed it again: both ends come at once."""
        lost = started(ask)
        ask.clock.instant += 11 * SECOND
        ask.rescue()
        (last,) = [claim.run for claim in ask.claim()]

        settled = ask.settle((lost, ask.outcome()), (last, ask.outcome("failed")))

        assert [run.state for run in settled.settled] == ["failed"]
        assert list(settled.fenced) == [lost]

    def test_a_cancel_that_came_meanwhile_is_seen(self, ask: Asking):
        run = started(ask)
        ask.change(run.schedule_id, lambda facts, now: rules.cancel_run(facts, run, now))

        ask.settle((run, ask.outcome("failed", error="it was told to stop")))

        found = reads(ask).run(run.id)[0].run
        assert (found.state, found.reason) == (State.CANCELLED, Reason.REQUESTED)

    def test_a_failed_attempt_is_a_row_only_when_the_run_goes_on(self, ask: Asking):
        run = started(ask, max_retries=1, retry_delay="1m")
        ask.settle((run, ask.outcome("failed", error="boom")))
        ask.go("09:01")
        (again,) = ask.claim()
        ask.settle((again.run, ask.outcome("failed", error="bang")))

        found, attempts = reads(ask).run(run.id)

        assert [(each.number, each.outcome.error) for each in attempts] == [(1, "boom")]
        assert (found.run.attempt, found.run.error) == (2, "bang")

    def test_whoever_waits_behind_is_woken(self, ask: Asking):
        run = started(ask, if_running="queue")
        ask.go("10:00")
        ask.plan()
        assert states(ask) == ["running", "held"]

        settled = ask.settle((run, ask.outcome()))

        assert settled.next_wake == ask.now
        assert ask.plan().added == 1
        assert states(ask) == ["succeeded", "queued"]

    def test_a_wake_that_stays_as_it_was_is_no_news_for_planners(self, ask: Asking):
        run = started(ask)

        assert ask.settle((run, ask.outcome())).next_wake is None

    def test_a_run_whose_specification_cannot_be_read_any_more_is_closed(self, ask: Asking):
        run = started(ask, max_retries=5)
        write(ask, "update specifications set body = 'x'")
        forget_known(ask)

        settled = ask.settle((run, ask.outcome("failed", error="boom")))

        assert [each.state for each in settled.settled] == [State.FAILED]
        assert (settled.settled[0].error or "").startswith("boom; not settled: JSONDecodeError")


class TestSchedules:
    def test_all_are_added_or_none(self, ask: Asking):
        ask.add("taken", every="1h")

        with pytest.raises(Conflict, match='the key "taken" is taken'):
            ask.add_all([new("free", ask.now, every="1h"), new("taken", ask.now, every="1h")])

        assert [found.schedule.key for found in reads(ask).schedules()] == ["taken"]

    def test_an_id_is_never_given_twice(self, ask: Asking):
        first = ask.add("a", every="1h")
        ask.change(first, rules.delete)
        with pytest.raises(ZeroDivisionError):
            ask(ask.store.add_schedules([new("b", 0, every="1h")], lambda *_: 1 // 0, 0))

        second = ask.add("a", every="2h")

        assert second > first
        assert reads(ask).schedule("a").schedule.id == second

    def test_what_was_undone_is_not_remembered(self, ask: Asking):
        """The id is given to another one: it must not find the other's definition."""
        for hours in ("1h", "2h"):
            wanted = [new("a", ask.now, every=hours), new("b", ask.now, every=hours)]

            def decide(identity: int, each: NewSchedule, active: int) -> rules.Schedule:
                schedule = rules.create(
                    identity, each.key, each.specification, ask.now, active=0, limits=rules.Limits()
                )
                if each.key == "b" and hours == "1h":  # noqa: B023
                    raise ZeroDivisionError("the second is refused")
                return schedule

            try:
                ask(ask.store.add_schedules(wanted, decide, ask.now))
            except ZeroDivisionError:
                continue
        ask.go("10:00")
        ask.plan()
        assert [claim.specification.to_json()["every"] for claim in ask.claim()] == ["2h", "2h"]

    def test_an_unknown_schedule_is_told(self, ask: Asking):
        with pytest.raises(NotFound, match="there is no schedule 7"):
            ask.change(7, rules.delete)

    def test_what_is_refused_changes_nothing(self, ask: Asking):
        identity = ask.add(every="1h")
        ask.go("09:00")
        before = changes(ask)

        with pytest.raises(WrongState):
            ask.change(identity, rules.resume)

        assert changes(ask) == before

    def test_each_version_of_a_definition_is_kept(self, ask: Asking):
        identity = ask.add(every="1h")
        for hours in ("2h", "3h"):
            changed = new("nightly", ask.now, every=hours, name=f"every {hours}").specification
            ask.change(
                identity,
                lambda facts, now, said=changed: rules.edit(facts, said, now),
            )

        found = reads(ask).schedule("every 3h")
        assert (found.schedule.version, found.stored.name) == (3, "every 3h")
        kept = query(ask, "select version, body from specifications order by version")
        said = [(version, json.loads(body)["every"]) for version, body in kept]
        assert said == [(1, "1h"), (2, "2h"), (3, "3h")]

    @pytest.mark.mission("D10")
    def test_whose_preset_a_definition_was_read_with_is_kept(self, ask: Asking):
        service = rules.ServiceSettings(preset="agent").specification
        wanted = {
            "own": service({"every": "1h", "task": "t", "preset": "horsies"}, "own", ask.now),
            "of its kind": service({"every": "1h", "plugin": "p"}, "of its kind", ask.now),
            "of the service": service({"every": "1h", "task": "t"}, "of the service", ask.now),
        }
        ask.add_all([NewSchedule(key, said, None, "test") for key, said in wanted.items()])

        found = {each.schedule.key: each.schedule for each in reads(ask).schedules()}

        assert {key: each.specification for key, each in found.items()} == wanted
        presets = [(each.own_preset, each.preset) for each in wanted.values()]
        assert presets == [("horsies", "horsies"), (None, "ductile"), (None, "agent")]

    @pytest.mark.mission("E8")
    def test_no_edit_makes_more_of_them_agents_than_may_be_active(self, ask: Asking):
        agents = [new(f"a{n}", ask.now, every="1h", preset="agent") for n in range(1000)]
        ask.add_all([*agents, new("other", ask.now, every="1h")])
        caller = Caller("ada", "test", "edit", limits=rules.Limits())

        def become_an_agent(which: str) -> Plans:
            said = new(which, ask.now, every="2h", preset="agent").specification
            return ask(ask.store.edit_schedule(which, lambda *_: said, rules.edit, ask.now, caller))

        become_an_agent("a1")
        with pytest.raises(Conflict, match='1000 schedules of the preset "agent" are active'):
            become_an_agent("other")

        ask.change("a1", rules.pause, by="ada")
        become_an_agent("other")
        counted = "select count(*) from schedules where preset = 'agent' and status = 'active'"
        assert query(ask, counted) == [(1000,)]

    def test_deleting_keeps_the_history_and_frees_the_key(self, ask: Asking):
        run = started(ask)
        ask.settle((run, ask.outcome()))
        ask.change(run.schedule_id, rules.delete)

        assert reads(ask).run(run.id)[0].run.state is State.SUCCEEDED
        assert reads(ask).schedule("nightly").stored.deleted_at == ask.now, "who asks is told"
        with pytest.raises(NotFound):
            ask.change("nightly", rules.delete)
        assert ask.add("nightly", every="1h") != run.schedule_id

    def test_zone_data_that_changed_lets_every_active_schedule_find_its_slots_anew(
        self, ask: Asking
    ):
        ask.add("active", every="1h")
        ask.change(ask.add("paused", every="1h"), rules.pause, by="ada")

        assert ask(ask.store.note_zone_data("2026a", ask.now)) is False, "the first is no change"
        assert ask(ask.store.note_zone_data("2026a", ask.now)) is False
        assert ask(ask.store.note_zone_data("2026b", ask.now)) is True
        assert list(ask(ask.store.due_ids(ask.now, 10))) == [1]
        assert ask.plan().added == 0
        assert ask.plan().next_wake == at("09:00")


class TestDeclaring:
    RULES = DeclarationRules(
        create=lambda identity, each, active: rules.create(
            identity,
            each.key,
            each.specification,
            at("08:00"),
            active=active,
            limits=rules.Limits(),
        ),
        edit=rules.edit,
        delete=lambda facts, now: rules.delete(facts, now, though_running=True),
    )

    def declare(self, ask: Asking, keys: list[str], wanted: Difference) -> list[StoredSchedule]:
        seen: list[StoredSchedule] = []

        def difference(stored: Sequence[StoredSchedule], _: Declared) -> Difference:
            seen.extend(stored)
            return wanted

        ask(ask.store.declare_schedules("file", keys, difference, self.RULES, ask.now))
        return seen

    def owned(self, ask: Asking, key: str, **fields: object) -> NewSchedule:
        return new(key, ask.now, **fields)._replace(owner="file", origin="declaration")

    def test_a_difference_is_carried_out_in_one_transaction(self, ask: Asking):
        first = [self.owned(ask, key, every="1h") for key in "ab"]
        self.declare(ask, ["a", "b"], Difference(first, [], []))
        changed = new("a", ask.now, every="2h").specification
        added = [self.owned(ask, "c", every="1h")]

        seen = self.declare(ask, ["a", "c"], Difference(added, [(1, changed)], [2]))

        assert [each.schedule.key for each in seen] == ["a", "b"]
        found = reads(ask).schedules()
        assert [(each.schedule.key, each.schedule.version) for each in found] == [
            ("a", 2),
            ("c", 1),
        ]
        assert ask(ask.store.count_owned("file")) == 2

    def test_if_one_part_is_refused_nothing_is_changed(self, ask: Asking):
        ask.add("taken", every="1h")
        self.declare(ask, ["a"], Difference([self.owned(ask, "a", every="1h")], [], []))

        with pytest.raises(Conflict):
            self.declare(ask, [], Difference([self.owned(ask, "taken", every="1h")], [], [2]))

        assert [each.schedule.key for each in reads(ask).schedules()] == ["taken", "a"]

    def test_what_is_removed_while_it_runs_ends_with_its_last_attempt(self, ask: Asking):
        self.declare(ask, ["a"], Difference([self.owned(ask, "a", every="1h")], [], []))
        ask.go("09:00")
        ask.plan()
        (claim,) = ask.claim()

        self.declare(ask, [], Difference([], [], [1]))
        ask.settle((claim.run, ask.outcome()))

        assert reads(ask).run("1-0")[0].run.state is State.SUCCEEDED
        assert ask.plan().next_wake is None

    @pytest.mark.parametrize(
        ("ending", "words"), [("failed", {}), ("lost", {}), ("lost", {"handed_back": True})]
    )
    def test_what_is_removed_while_it_runs_is_not_tried_again(
        self, ask: Asking, ending: str, words: dict[str, Any]
    ):
        wanted = self.owned(ask, "a", every="1h", max_retries=3, retry_delay="30s")
        self.declare(ask, ["a"], Difference([wanted], [], []))
        ask.go("09:00")
        ask.plan()
        (claim,) = ask.claim()

        self.declare(ask, [], Difference([], [], [1]))
        ask.settle((claim.run, ask.outcome(ending, **words)))
        ask.go("09:05")

        run = reads(ask).run("1-0")[0].run
        assert (run.state, run.reason, run.attempt) == (ending, "deleted", 1)
        assert ask.claim("w2") == []

    def test_what_is_removed_while_its_breaker_opens_does_not_block_its_plugin(self, ask: Asking):
        breaker = {"threshold": 1, "reset_after": "10m"}
        plugin = {"every": "1h", "plugin": "p", "circuit_breaker": breaker}
        gone = self.owned(ask, "gone", max_retries=3, retry_delay="30s", **plugin)
        self.declare(ask, ["gone"], Difference([gone], [], []))
        ask.go("09:00")
        ask.plan()
        (claim,) = ask.claim()
        self.declare(ask, [], Difference([], [], [1]))
        ask.settle((claim.run, ask.outcome("failed")))

        other = ask.add("other", **plugin)
        for hour in (10, 11, 12):
            ask.go(f"{hour}:00")
            ask.plan()
            (claim,) = ask.claim()
            assert claim.run.schedule_id == other
            ask.settle((claim.run, ask.outcome()))

        assert reads(ask).not_run(str(other)) == []

    def test_what_was_deleted_before_is_shown_to_the_declaration(self, ask: Asking):
        self.declare(ask, ["a"], Difference([self.owned(ask, "a", every="1h")], [], []))
        ask.change(1, rules.delete)

        seen = self.declare(ask, ["a"], Difference([], [], []))

        assert [(each.schedule.id, each.deleted_at) for each in seen] == [(1, ask.now)]


class TestOutputAndNotices:
    def test_output_is_kept_in_order_and_a_chunk_only_once(self, ask: Asking):
        run = started(ask)
        chunks = [
            Chunk(run.schedule_id, 0, 1, number, ask.now, b"%d;" % number) for number in (0, 1)
        ]
        ask(ask.store.add_output(chunks))
        ask(
            ask.store.add_output([chunks[1]._replace(data=b"other"), chunks[0]._replace(attempt=2)])
        )

        assert reads(ask).output(run.id) == b"0;1;0;"
        assert reads(ask).output(run.id, 1) == b"0;1;"

    @pytest.mark.fault("F8")
    def test_what_people_should_hear_of_is_told_until_it_is_marked(self, ask: Asking):
        run = started(ask)
        ask.settle((run, ask.outcome("failed", error="boom")))

        notifications = ask(ask.store.take_notifications(10))
        again = ask(ask.store.take_notifications(10))

        assert notifications == again
        assert [(each.kind, each.about, each.detail) for each in notifications] == [
            ("run.failed", ["1-0"], "boom")
        ]
        ask(ask.store.mark_sent(notifications, ask.now))
        assert ask(ask.store.take_notifications(10)) == []

    def test_events_are_written_with_the_decision_or_not_at_all(self, ask: Asking):
        run = started(ask)
        ask.settle((run, ask.outcome()))

        def broken(*facts: object) -> rules.Settlements:
            raise ZeroDivisionError

        ask.go("10:00")
        ask.plan()
        ask.claim()
        ask.clock.instant += MINUTE
        with pytest.raises(ZeroDivisionError):
            ask(ask.store.rescue_runs(ask.now, 1, broken))

        kinds = query(ask, "select kind, about from events order by id")
        assert kinds == [
            ("schedule.created", '["nightly"]'),
            ("run.planned", '["1-0"]'),
            ("run.started", '["1-0"]'),
            ("run.succeeded", '["1-0"]'),
            ("run.planned", '["1-1"]'),
            ("run.started", '["1-1"]'),
        ]


class TestForgetting:
    def lived(self, ask: Asking, count: int = 4) -> None:
        """So many runs an hour apart, the last but one failed; each put something out."""
        ask.add(every="1h", max_retries=1, retry_delay="1m")
        for number in range(count):
            ask.clock.instant = at("09:00") + number * HOUR
            ask.plan()
            (claim,) = ask.claim()
            chunk = Chunk(1, number, 1, 0, ask.now, b"said")
            ask(ask.store.add_output([chunk]))
            if number == 0:
                ask.settle((claim.run, ask.outcome("failed")))
                ask.clock.instant += MINUTE
                (claim,) = ask.claim()
            ask.settle((claim.run, ask.outcome()))

    def prune(self, ask: Asking, **words: object) -> int:
        """A whole sweep: how many rows were forgotten."""
        counts: list[int] = [done.count for done in self.batches(ask, **words)]
        return sum(counts)

    def batches(
        self,
        ask: Asking,
        progress: PruneProgress = PruneProgress(),  # noqa: B008
        **words: object,
    ) -> list[Pruned]:
        kept = NOTHING_FORGOTTEN._replace(**words)
        horizons, batches = rules.horizons(kept, ask.now), []
        while not progress.is_over:
            batches.append(ask(ask.store.prune(horizons, kept, progress, ask.now)))
            progress = batches[-1].progress
        return batches

    def test_what_is_too_old_goes_with_its_attempts_and_output(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += 10 * DAY

        self.prune(ask, run_age=10 * DAY + 90 * MINUTE)

        assert [found.run.number for found in reads(ask).runs("nightly")] == [3, 2]
        counts = "select (select count(*) from attempts), (select count(*) from output)"
        tables = query(ask, counts)
        assert tables == [(0, 2)]

    def test_the_last_run_and_the_last_success_stay(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += 1000 * DAY

        assert self.prune(ask, run_age=DAY) == 3 + 3 + 1, "with output, and an attempt"
        assert [found.run.number for found in reads(ask).runs("nightly")] == [3]
        assert self.prune(ask, run_age=DAY) == 0

    def test_only_so_many_runs_of_a_schedule_are_kept(self, ask: Asking):
        self.lived(ask)

        assert self.prune(ask, run_count=2) == 2 + 2 + 1, "with output, and an attempt"
        assert [found.run.number for found in reads(ask).runs("nightly")] == [3, 2]

    def test_output_and_events_have_ages_of_their_own(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += 10 * DAY

        assert self.prune(ask, output_age=DAY) == 4
        assert self.prune(ask, event_age=DAY) > 10
        assert len(reads(ask).runs("nightly")) == 4

    def test_what_nobody_was_told_of_is_not_forgotten(self, ask: Asking):
        run = started(ask)
        ask.settle((run, ask.outcome("failed")))
        ask.clock.instant += 10 * DAY

        self.prune(ask, event_age=DAY)
        notifications = ask(ask.store.take_notifications(10))
        assert len(notifications) == 1
        ask(ask.store.mark_sent(notifications, ask.now))
        assert self.prune(ask, event_age=DAY) == 1

    def test_open_runs_stay_however_old(self, ask: Asking):
        started(ask)
        ask.clock.instant += 1000 * DAY

        assert self.prune(ask, run_age=DAY, run_count=1) == 0

    def test_nothing_is_forgotten_without_a_horizon(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += 1000 * DAY

        assert self.prune(ask) == 0

    def test_audit_rows_have_an_age_of_their_own(self, ask: Asking):
        for age in (3, 1):
            then = ask.now - age * DAY
            row = f"{age}, {then}, 'a', 'b', 'c'"
            write(ask, f"insert into audit (id, at, by, origin, verb) values ({row})")

        assert self.prune(ask, audit_age=2 * DAY) == 1
        assert self.prune(ask, audit_age=2 * DAY) == 0

    def test_a_run_with_much_output_goes_only_after_its_output_has(self, ask: Asking):
        self.lived(ask)
        more = [Chunk(1, 0, 1, number, ask.now, b"said") for number in range(1, 60)]
        ask(ask.store.add_output(more))
        ask.clock.instant += DAY

        batches = self.batches(ask, run_count=3)

        assert [batch.count for batch in batches if batch.count] == [12] * 5 + [1, 1]
        assert [found.run.number for found in reads(ask).runs("nightly")] == [3, 2, 1]
        assert reads(ask).output("1-3") == b"said"

    def test_what_a_schedule_pointed_at_goes_when_all_old_runs_are_looked_at_anew(
        self, ask: Asking
    ):
        self.lived(ask, count=1)
        ask.clock.instant += 100 * DAY
        first = self.batches(ask, run_age=DAY)[-1].progress
        assert states(ask) == ["succeeded"], "it was the last one"
        ask.plan()
        (claim,) = ask.claim()
        ask.settle((claim.run, ask.outcome()))
        ask.clock.instant += HOUR

        assert self.batches(ask, PruneProgress(old=first.old), run_age=DAY)[-1].count == 0
        assert self.prune(ask, run_age=DAY) == 1 + 1 + 1

    def test_an_open_run_is_looked_at_again_when_it_has_ended(self, ask: Asking):
        """It was beyond the number that is kept, but it was open."""
        ask.add(every="1h", if_running="allow")
        runs = []
        for number in range(3):
            ask.clock.instant = at("09:00") + number * HOUR
            ask.plan()
            (claim,) = ask.claim()
            runs.append(claim.run)
        ask.settle((runs[1], ask.outcome()))
        ask.clock.instant += HOUR
        assert self.prune(ask, run_count=2) == 0
        ask.settle((runs[0], ask.outcome()))
        ask.settle((runs[2], ask.outcome()))
        ask.clock.instant += HOUR

        assert self.prune(ask, run_count=2) == 1

    def test_another_number_to_keep_is_looked_for_from_the_beginning(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += HOUR

        assert [self.prune(ask, run_count=count) for count in (3, 3, 2, 1)] == [3, 0, 2, 2]

    def test_what_is_looked_at_follows_what_ended_not_what_is_stored(self, ask: Asking):
        """Else a million idle schedules would be looked at in each sweep."""
        ask.add_all([new(f"idle{number}", ask.now, every="365d") for number in range(200)])
        self.lived(ask)
        ask.clock.instant += HOUR
        self.prune(ask, run_count=2, run_age=DAY)
        with statements(ask) as caller:
            assert self.prune(ask, run_count=2, run_age=DAY) == 0

        assert not [name for name in caller if "schedules" in sql(name, "sqlite")]
        assert len(caller) < 25

    def test_beside_the_runs_that_are_kept_others_are_not_read(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += HOUR

        progress = self.batches(ask, run_count=2)[-1].progress

        assert progress.surplus == RunCursor(reads(ask).run("1-3")[0].run.finished_at, 1, 3)


class TestDays:
    def days(self, ask: Asking, which: str | None = None) -> list[Day]:
        today = at("00:00") // DAY
        return reads(ask).days(which, today - 1, today + 1)

    def lived(self, ask: Asking) -> None:
        """Two runs of one schedule, one of another; and one more that ends a day later."""
        ask.add("a", every="1h")
        ask.add("b", every="2h")
        for until in ("09:00", "10:00"):
            ask.go(until)
            ask.plan()
            ask.clock.instant += 3 * SECOND
            claims = ask.claim()
            ask.clock.instant += MINUTE
            endings = {"a": "succeeded", "b": "failed"}
            ask.settle(*((each.run, ask.outcome(endings[each.key])) for each in claims))
        ask.go("11:00")
        ask.plan()
        (claim,) = ask.claim()
        ask.clock.instant += DAY
        ask.settle((claim.run, ask.outcome("timed_out")))

    def update_daily_stats(self, ask: Asking) -> None:
        progress = PruneProgress()
        none = rules.horizons(NOTHING_FORGOTTEN, ask.now)
        while not progress.is_over:
            progress = ask(ask.store.prune(none, NOTHING_FORGOTTEN, progress, ask.now)).progress

    def test_say_what_became_of_the_runs_of_each_schedule_and_of_all(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += HOUR
        self.update_daily_stats(ask)

        today = at("00:00") // DAY
        first, second = self.days(ask, "a")
        assert (first.day, first.succeeded, first.failed, first.started) == (today, 2, 0, 2)
        assert (first.duration_sum, first.duration_max) == (2 * MINUTE, MINUTE)
        assert (first.delay_sum, first.delay_max) == (6 * SECOND, 3 * SECOND)
        assert (second.day, second.timed_out, second.duration_max) == (today + 1, 1, DAY)
        assert [(each.succeeded, each.failed) for each in self.days(ask, "b")] == [(0, 1)]
        assert [(each.succeeded, each.failed) for each in self.days(ask)] == [(2, 1), (0, 0)]
        assert self.days(ask)[0].duration_sum == 3 * MINUTE

    def test_count_each_run_once_however_often_they_are_rolled_up(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += HOUR
        for _ in range(3):
            self.update_daily_stats(ask)

        assert [each.started for each in self.days(ask)] == [3, 1]

    def test_leave_the_last_minutes_for_later(self, ask: Asking):
        run = started(ask)
        ask.settle((run, ask.outcome()))
        ask.clock.instant += 5 * MINUTE
        self.update_daily_stats(ask)
        assert self.days(ask) == []

        ask.clock.instant += 1
        self.update_daily_stats(ask)
        assert [each.succeeded for each in self.days(ask)] == [1]

    def test_know_a_run_before_it_is_forgotten(self, ask: Asking):
        """However short the retention is."""
        ask.add(every="1h")
        for until in ("09:00", "10:00"):
            ask.go(until)
            ask.plan()
            (claim,) = ask.claim()
            ask.settle((claim.run, ask.outcome()))
        kept = Retention(run_age=SECOND, run_count=1)
        ask.clock.instant += 4 * MINUTE
        write(ask, f"update runs set finished_at = {ask.now - 2 * SECOND} where number = 0")

        self.swept(ask, kept)
        assert (len(reads(ask).runs("nightly")), self.days(ask)) == (2, [])
        ask.clock.instant += 5 * MINUTE
        self.swept(ask, kept)

        assert [found.run.number for found in reads(ask).runs("nightly")] == [1]
        assert [each.succeeded for each in self.days(ask)] == [2]

    def test_know_a_run_before_there_are_too_many(self, ask: Asking):
        """One has ended just now, though two later ones were planned."""
        ask.add(every="1h", if_running="allow")
        runs = []
        for until in ("09:00", "10:00", "11:00"):
            ask.go(until)
            ask.plan()
            runs += [claim.run for claim in ask.claim()]
        ask.settle((runs[0], ask.outcome()))
        ask.clock.instant += HOUR
        ask.settle((runs[1], ask.outcome()), (runs[2], ask.outcome()))
        kept = NOTHING_FORGOTTEN._replace(run_count=1)

        self.swept(ask, kept)
        assert [found.run.number for found in reads(ask).runs("nightly")] == [2, 1]
        ask.clock.instant += HOUR
        self.swept(ask, kept)

        assert [found.run.number for found in reads(ask).runs("nightly")] == [2]
        assert [each.succeeded for each in self.days(ask)] == [3]

    def swept(self, ask: Asking, kept: Retention) -> None:
        progress, horizons = PruneProgress(), rules.horizons(kept, ask.now)
        while not progress.is_over:
            progress = ask(ask.store.prune(horizons, kept, progress, ask.now)).progress

    def test_are_forgotten_by_an_age_of_their_own(self, ask: Asking):
        self.lived(ask)
        ask.clock.instant += HOUR
        self.update_daily_stats(ask)
        ask.clock.instant += 10 * DAY

        self.swept(ask, NOTHING_FORGOTTEN._replace(daily_age=11 * DAY))
        assert len(self.days(ask)) == 2
        self.swept(ask, NOTHING_FORGOTTEN._replace(daily_age=10 * DAY))
        assert [each.timed_out for each in self.days(ask)] == [1]


class TestAClockThatWasAhead:
    def test_the_last_look_is_noted_again(self, ask: Asking):
        ask.go("10:00")
        ask.plan()
        ask.go("08:30")
        ask.plan()

        assert query(ask, "select last_look from planner_state") == [(at("08:30"),)]

    def test_days_are_rolled_up_and_runs_beyond_their_number_forgotten(self, ask: Asking):
        ask.add(every="1h")
        for hour in range(9, 14):
            ask.go(f"{hour:02}:00")
            ask.plan()
            for claim in ask.claim():
                ask.settle((claim.run, ask.outcome()))
        ahead = ask.now + 30 * DAY
        for name, place in [("daily_stats", [ahead, 1, 0]), ("surplus", [3, ahead, 1, 0])]:
            ask(ask.store.put_metadata(name, json.dumps(place)))
        retention = Retention(run_count=3)
        for hour in range(14, 18):
            ask.go(f"{hour:02}:00")
            ask.plan()
            for claim in ask.claim():
                ask.settle((claim.run, ask.outcome()))
            ask.clock.instant += 10 * MINUTE
            progress = PruneProgress()
            while not progress.is_over:
                due = rules.horizons(retention, ask.now)
                _, progress = ask(ask.store.prune(due, retention, progress, ask.now))

        counted = "select succeeded from daily_stats where schedule_id = 1"
        assert query(ask, counted) == [(3,)], "from when it is noticed"
        assert query(ask, "select count(*) from runs") == [(3,)]
