"""What a person may ask, on the running engine: the answer, the rows, and who asked for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import apsw
import asyncpg
import pytest

from harness.engine.service import House, failing
from harness.rules.world import at
from harness.store.stores import HOUSES
from quarterjack import rules
from quarterjack.control import SERVICE_SETTINGS, Control, recover
from quarterjack.errors import (
    Conflict,
    InvalidSpecification,
    NotFound,
    QuarterjackError,
    StoreUnusable,
    WrongState,
)
from quarterjack.rules import Limits, Schedule, ServiceSettings, Status
from quarterjack.store.reader import FoundSchedule
from quarterjack.store.rows import audit_of
from quarterjack.store.types import Audit, StoredSchedule
from quarterjack.targets.call import Call
from quarterjack.times.instants import HOUR, MINUTE, to_text
from quarterjack.views import schedule_view


class Person:
    """Somebody at the door of a house in which the engine runs."""

    def __init__(
        self,
        service: House,
        rules: ServiceSettings = ServiceSettings(),  # noqa: B008
        by: str = "ada",
    ) -> None:
        self.service = service
        self._control = Control(service.store, by=by, origin="test", owner=by)
        service.run(service.store.put_metadata(SERVICE_SETTINGS, rules.to_text()))

    def __call__(self, verb: str, *what: Any, **words: Any) -> Any:
        answer = self.service.run(getattr(self._control, verb)(*what, **words))
        for name in ("planner", "worker"):
            self.service.hint(name)
        self.service.ask_leases()
        return answer

    def add(self, key: str = "nightly", **fields: Any) -> Schedule:
        (made,) = self("create", {"key": key, "task": "work", **fields})
        return made  # type: ignore[no-any-return]

    def refused(self, verb: str, *what: Any, **words: Any) -> QuarterjackError:
        """Why; and nothing has changed."""
        before = dump(self.service)
        with pytest.raises(QuarterjackError) as told:
            self(verb, *what, **words)
        assert dump(self.service) == before, "what is refused changes nothing"
        return told.value


def dump(service: House) -> list[Any]:
    tables = (
        "schedules",
        "specifications",
        "runs",
        "slots_not_run",
        "gates",
        "audit",
        "events",
        "outbox",
    )
    return [service.table(table) for table in tables]


def audit(service: House) -> list[Audit]:
    return [audit_of(row) for row in service.table("audit")]


def shown(service: House, schedule: Schedule) -> dict[str, Any]:
    stored = StoredSchedule(schedule, None, "ada", "test", 0, None)
    return schedule_view(FoundSchedule(stored, None, None))


@pytest.fixture(params=HOUSES)
def service(request: pytest.FixtureRequest) -> Iterator[House]:
    service = House(on=request.param)
    yield service
    service.close()


@pytest.fixture
def ada(service: House) -> Person:
    return Person(service)


class TestCreating:
    def test_one_without_a_key_is_named_after_its_id(self, service: House, ada: Person):
        ada.add("first", every="1h")

        (made,) = ada("create", {"task": "work", "cron": "H 3 * * *"})

        assert (made.id, made.key) == (2, "schedule-2")
        assert service.schedule(2).specification.recurrence.to_json()["key"] == "schedule-2"

    def test_who_created_it_is_recorded(self, service: House, ada: Person):
        ada.add(every="1h")

        (row,) = service.table("schedules")
        assert row[28:30] == ("ada", "test")

    def test_many_are_added_or_none_and_every_problem_is_told(self, ada: Person):
        good = {"key": "good", "task": "work", "every": "1h"}
        error = ada.refused(
            "create",
            good,
            {"task": "work", "every": "0h"},
            {"key": "c", "cron": "0 25 * * *"},
            good,
        )

        assert (type(error), error.status) == (InvalidSpecification, 400)
        for told in [
            'number 2: schedule "new": every "0h" is too short',
            'number 3: schedule "c": hour 25 is outside 0-23',
            'number 3: schedule "c": target {} names nothing to do',
            'key "good" is given twice; use another',
        ]:
            assert told in str(error)

    def test_a_key_that_is_taken_is_a_conflict(self, ada: Person):
        ada.add("nightly", every="1h")
        new = {"task": "work", "every": "1h"}

        error = ada.refused("create", {"key": "other", **new}, {"key": "nightly", **new})

        assert (type(error), error.status) == (Conflict, 409)
        assert 'the key "nightly" is taken; use another' in str(error)

    @pytest.mark.parametrize(
        ("key", "why"),
        [
            ("schedule-7", "looks like an id"),
            ("42", "looks like an id"),
            (" lead", "has blanks around it"),
            ("", "is no text"),
            (7, "is no text"),
        ],
    )
    def test_a_key_that_cannot_be_one_is_refused(self, ada: Person, key: object, why: str):
        error = ada.refused("create", {"key": key, "task": "work", "every": "1h"})
        assert why in str(error)

    def test_the_defaults_and_queues_of_the_house_hold(self, service: House):
        rules = ServiceSettings(defaults={"timezone": "Asia/Tokyo"}, queues=("default", "slow"))
        ada = Person(service, rules)

        made = ada.add("a", cron="0 9 * * *", queue="slow")
        error = ada.refused("create", {"task": "work", "every": "1h", "queue": "other"})

        assert to_text(made.next_slot) == "2026-11-17T00:00:00Z"
        assert 'queue "other" is not declared; use one of default, slow' in str(error)

    def test_without_a_key_it_is_what_it_would_be_with_one(self, service: House):
        ada = Person(service, ServiceSettings(defaults={"catch_up_window": "1h"}))
        new = {"task": "work", "every": "1h", "catch_up_window": "none"}

        made = ada("create", {"key": "a", **new}, new)

        assert [each.specification.catch_up.window for each in made] == [None, None]

    def test_what_another_program_noted_of_the_house_is_ignored(self):
        said = json.loads(ServiceSettings(limits=Limits(max_catchup_runs=3)).to_text())
        newer = json.dumps(said | {"colour": "red", "limits": said["limits"] | {"more": 1}})
        assert ServiceSettings.from_text(newer).limits == Limits(max_catchup_runs=3)
        assert ServiceSettings.from_text(None) == ServiceSettings()
        for spoiled in ("{", '{"limits": 3}', "3"):
            with pytest.raises(StoreUnusable, match="start `quarterjack up` once"):
                ServiceSettings.from_text(spoiled)


class TestEditing:
    def test_only_what_is_said_changes_and_a_run_in_flight_keeps_its_version(
        self, service: House, ada: Person
    ):
        ada.add(every="1h", max_retries=2, payload={"n": 1})
        service.work = lambda call: service.sleep(30 * MINUTE)
        service.go("09:00")

        edited = ada("edit", "nightly", {"payload": {"n": 2}, "timeout_seconds": 30})

        assert (edited.version, edited.specification.retry.retries_max) == (2, 2)
        assert shown(service, edited)["timeout_seconds"] == 30
        assert edited.next_slot == at("10:00"), "the slots stay as they are"
        service.go("10:40")
        assert [run.version for run in service.runs()] == [1, 2]
        assert [call.payload for _, call in service.calls] == [{"n": 1}, {"n": 2}]

    @pytest.mark.parametrize(
        ("before", "changes", "kind"),
        [
            ({"cron": "0 3 * * *", "dst_gap": "skip"}, {"every": "2h"}, "every"),
            ({"every": "1h", "anchor": "completion"}, {"cron": "0 3 * * *"}, "cron"),
            ({"cron": "0 8 * * *", "first_run": "match"}, {"at": "2026-11-17T00:00:00Z"}, "at"),
            ({"at": "2026-11-17T00:00:00Z"}, {"after": "5m"}, "after"),
            ({"every": "1h"}, {"interval_seconds": 60}, "every"),
        ],
    )
    def test_another_recurrence_takes_the_place_of_the_first(
        self, ada: Person, before: dict[str, Any], changes: dict[str, Any], kind: str
    ):
        ada.add(**before)
        edited = ada("edit", 1, changes)
        assert shown(ada.service, edited)["schedule_type"] == kind

    def test_another_target_takes_the_place_of_the_first(self, ada: Person):
        ada("create", {"key": "p", "plugin": "echo", "every": "1h"})

        assert ada("edit", "p", {"command": "sync"}).specification.target.fields == {
            "plugin": "echo",
            "command": "sync",
        }
        edited = ada("edit", "p", {"prompt": "hello", "model": "small"})
        assert shown(ada.service, edited)["target"]["kind"] == "prompt"
        assert ada("edit", "p", {"prompt": "hi"}).specification.target.fields["model"] == "small"
        edited = ada("edit", "p", {"model": None, "prompt": "hello"})
        assert edited.specification.target.fields == {"prompt": "hello", "model": None, "opts": {}}

    def test_null_goes_back_to_the_default(self, ada: Person):
        ada.add(every="1h", max_retries=3, description="x")
        edited = ada("edit", 1, {"max_retries": None, "description": None})
        assert (edited.specification.retry.retries_max, edited.specification.description) == (
            0,
            None,
        )

    def test_what_was_not_said_stays_whatever_the_defaults_are_by_now(self, service: House):
        Person(service).add(every="1h", max_retries=2)
        defaults = {"only_between": "08:00-18:00", "description": "house", "max_retries": 7}
        rules = ServiceSettings(defaults=defaults, limits=Limits(max_consecutive_errors=4))
        ada = Person(service, rules)

        edited = ada("edit", 1, {"priority": 3})
        assert audit(service)[-1].after == {"version": 2, "priority": 3}
        assert edited.specification.window is None
        edited = ada("edit", 1, {"max_retries": None, "max_consecutive_errors": None})
        assert edited.specification.retry.retries_max == 7, "null goes back to the default"
        assert edited.specification.max_consecutive_errors == 4

    def test_what_was_resumed_stays_so_though_it_was_added_disabled(self, ada: Person):
        ada.add(every="1h", enabled=False)
        ada("resume", 1)

        assert ada("edit", 1, {"name": "x"}).status is Status.ACTIVE
        assert ada("edit", 1, {"enabled": True}).status is Status.ACTIVE
        assert ada("edit", 1, {"enabled": False}).status is Status.PAUSED

    def test_another_recurrence_ends_what_is_left_of_a_backfill(self, ada: Person):
        ada.add(cron="0 * * * *")
        ada("backfill", 1, at("01:00"), at("05:00"))

        assert ada("edit", 1, {"name": "x"}).backfill is not None
        assert ada("edit", 1, {"cron": "5 * * * *"}).backfill is None

    def test_who_read_an_older_version_is_told_so(self, ada: Person):
        ada.add(every="1h")
        ada("edit", 1, {"every": "2h"}, version=1)

        error = ada.refused("edit", 1, {"every": "3h"}, version=1)

        assert (type(error), error.status) == (Conflict, 409)
        assert "is at version 2, not 1; look at it again" in str(error)

    def test_what_cannot_be_read_changes_nothing(self, ada: Person):
        ada.add(every="1h")
        for changes, told in [
            ({"every": "0h"}, "too short"),
            ({"preset": "agent"}, "was spelled out"),
            ({"nonsense": 1}, "is no field of a schedule"),
            ({"delete_after_run": True}, "does not go with every hour"),
        ]:
            error = ada.refused("edit", 1, changes)
            assert (error.status, told in str(error)) == (400, True), error

    def test_a_new_instant_revives_one_that_is_done(self, service: House, ada: Person):
        ada.add(at="2026-11-16T08:30:00Z")
        service.go("09:00")
        assert service.schedule().status is Status.DONE

        ada("edit", 1, {"at": "2026-11-16T10:00:00Z"})
        service.go("10:01")

        assert service.slots() == [at("08:30"), at("10:00")]


class TestStates:
    @pytest.mark.mission("D11")
    def test_state_tells_what_fired_what_succeeded_and_what_comes(
        self, service: House, ada: Person
    ):
        ada.add(every="1h")
        service.work = lambda call: failing(call) if call.repeat_number else None
        service.go("10:30")

        state = shown(service, service.schedule())

        assert {name: state[name] for name in ("last_fired_at", "last_success_at")} == {
            "last_fired_at": "2026-11-16T10:00:00Z",
            "last_success_at": "2026-11-16T09:00:00Z",
        }
        assert (state["last_success_run_id"], state["last_run_id"]) == ("1-0", "1-1")
        assert (state["status"], state["next_run_at"]) == ("active", "2026-11-16T11:00:00Z")
        (paused,) = ada("pause", "nightly", reason="repairs")
        state = shown(service, paused)
        assert (state["status"], state["status_reason"]) == ("paused", "repairs")
        assert (state["paused_by"], state["next_run_at"]) == ("ada", None)

    @pytest.mark.mission("D12")
    def test_a_one_shot_is_done_after_it_fired_over_restarts_too(self, service: House, ada: Person):
        ada.add("past", at="2026-11-15T00:00:00Z")
        ada.add("soon", at="2026-11-16T09:00:00Z")
        service.go("08:00")
        assert service.started() == ["1-0"], "one in the past that never fired, fires at once"
        service.go("09:00")
        for _ in range(3):
            service.restart()
            service.go(service.clock.instant + HOUR)

        assert service.started() == ["1-0", "2-0"]
        assert {service.schedule(1).status, service.schedule(2).status} == {Status.DONE}
        error = ada.refused("resume", "soon")
        assert (type(error), error.status) == (WrongState, 400)

    @pytest.mark.mission("P4")
    def test_a_pause_clears_the_next_run_and_a_resume_counts_from_now(
        self, service: House, ada: Person
    ):
        ada.add("busy", every="1h", queue="default", priority=5)
        ada.add("waits", every="1h", jitter="30m", max_retries=3)
        service.work = lambda call: failing(call) if call.key == "busy" else None
        service.go("09:00")
        assert service.states(2) == ["queued"], "its jitter lets it wait"
        counted = service.schedule(1).error_count

        _busy, waits = ada("pause", "busy", "waits")
        service.go("10:45")

        assert (waits.next_slot, service.states(2)) == (None, ["skipped: paused"])
        assert [call.key for _, call in service.calls] == ["busy"], "nothing fired"
        ada("resume", "busy", "waits")
        resumed = service.schedule(1)
        assert (resumed.next_slot, resumed.error_count) == (at("11:45"), counted)

    def test_a_pause_until_some_instant_ends_by_itself(self, service: House, ada: Person):
        ada.add(every="1h")
        ada("pause", 1, until=at("10:30"))
        service.go("11:30")

        assert service.slots() == [at("11:30")]
        error = ada.refused("pause", 1, until=at("09:00"))
        assert (error.status, "has passed" in str(error)) == (400, True)

    def test_several_are_paused_or_none(self, ada: Person):
        ada.add("a", every="1h")
        ada.add("b", every="1h")
        ada("pause", "b")

        error = ada.refused("pause", "a", "b", "c")

        assert 'there is no schedule "c"' in str(error)
        assert 'schedule "b" is paused' in str(error)

    def test_what_is_not_there_is_not_found(self, ada: Person):
        for verb in ("pause", "resume", "run", "delete"):
            error = ada.refused(verb, "nobody")
            assert (type(error), error.status) == (NotFound, 404)
        for verb in ("cancel", "retry"):
            for run in ("7-7", "nonsense", "7"):
                assert type(ada.refused(verb, run)) is NotFound
        assert type(ada.refused("edit", 7, {"every": "1h"})) is NotFound

    def test_a_name_that_two_share_is_ambiguous(self, ada: Person):
        for key in ("a", "b"):
            ada.add(key, every="1h", name="Report")
        error = ada.refused("run", "Report")
        assert (error.status, "the name of the schedules 1, 2" in str(error)) == (409, True)


class TestRuns:
    @pytest.mark.mission("E5")
    def test_a_manual_run_is_dispatched_and_moves_no_slot(self, service: House, ada: Person):
        ada.add(cron="0 9 * * *", only_between="08:30-18:00")
        service.go("08:10")

        run = ada("run", "nightly")
        service.go("08:11")

        assert (run.id, service.started()) == ("1-0", ["1-0"])
        assert service.schedule().next_slot == at("09:00")
        service.go("09:01")
        assert service.slots() == [at("08:10"), at("09:00")]

    @pytest.mark.mission("E5")
    def test_while_it_runs_it_is_neither_run_nor_deleted_and_while_it_rests_not_run(
        self, service: House, ada: Person
    ):
        ada.add(every="1h")
        service.work = lambda call: service.sleep(30 * MINUTE)
        service.go("09:00")
        for verb in ("run", "delete"):
            error = ada.refused(verb, 1)
            assert (type(error), error.status) == (Conflict, 409)
            assert "run 1-0 is running (attempt 1, worker w1)" in str(error)
        service.go("09:31")
        ada("pause", 1)
        error = ada.refused("run", 1)
        assert (type(error), error.status) == (WrongState, 400)
        assert str(error) == 'schedule "nightly" is paused; resume it first'

        ada("delete", 1)

        assert service.states() == ["succeeded"], "its history stays"
        assert ada.add("nightly", every="1h").id == 2, "its key is free"

    def test_what_is_deleted_together_goes_or_stays_together(self, service: House, ada: Person):
        for key in ("a", "b"):
            ada.add(key, every="1h")
        service.work = lambda call: service.sleep(30 * MINUTE) if call.key == "b" else None
        service.go("09:00")

        error = ada.refused("delete", 1, 2, 77, ignores_missing=True)
        assert (type(error), "run 2-0 is running" in str(error)) == (Conflict, True)
        service.go("09:31")
        assert len(ada("delete", 1, 2, 77, ignores_missing=True)) == 2

    def test_a_run_that_waits_is_cancelled_and_one_that_runs_is_stopped(
        self, service: House, ada: Person
    ):
        ada.add("slow", every="1h", if_running="queue")
        service.work = lambda call: service.sleep(5 * HOUR)
        service.go("10:00")
        assert service.states() == ["running", "held"]

        assert ada("cancel", "1-1").state == "cancelled"
        assert ada("cancel", "1-0").cancel == "requested"
        assert ada("cancel", "1-0").cancel == "requested", "once is enough"
        service.go("10:01")

        assert service.states() == ["cancelled: requested", "cancelled: requested"]
        error = ada.refused("cancel", "1-0")
        assert (type(error), error.status) == (WrongState, 400)

    def test_a_run_that_waits_to_be_tried_again_is_tried_at_once(self, service: House, ada: Person):
        ada.add(every="5h", max_retries=3, retry_delay="2h")
        service.work = lambda call: failing(call) if call.attempt == 1 else None
        service.go("13:30")
        assert service.states() == ["queued"]

        assert ada("retry", "1-0").id == "1-0"
        service.go("13:31")

        assert (service.states(), len(service.calls)) == (["succeeded"], 2)
        error = ada.refused("retry", "1-0")
        assert (type(error), "run 1-0 is succeeded" in str(error)) == (WrongState, True)

    def test_one_that_has_failed_is_tried_by_a_new_run_of_the_same_slot(
        self, service: House, ada: Person
    ):
        ada.add(every="1h")
        service.work = lambda call: failing(call) if call.run_id == "1-0" else None
        service.go("09:10")

        again = ada("retry", "1-0")
        service.go("09:11")

        assert (again.id, again.slot, again.kind) == ("1-1", at("09:00"), "manual")
        assert service.states() == ["failed", "succeeded"], "what was closed stays as it was"
        assert service.schedule().next_slot == at("10:00")

    def test_a_backfill_is_counted_first_and_worked_off(self, service: House, ada: Person):
        ada.add(cron="0 * * * *", if_running="allow")

        found = ada("backfill", 1, at("2026-11-15T00:00:00Z"), at("2026-11-15T11:30:00Z"))
        service.go("08:01")

        assert (found.slots, found.left_out, len(service.calls)) == (12, 0, 12)
        assert found.schedule.next_slot == at("09:00")
        assert {run.request for run in service.runs()} == {2}, "that of its row in the audit"
        error = ada.refused("backfill", 1, at("07:00"), at("18:00"))
        assert (error.status, "is no past range" in str(error)) == (400, True)

    @pytest.mark.mission("H8")
    def test_a_backfill_that_is_asked_for_twice_runs_only_what_has_not_succeeded(
        self, service: House, ada: Person
    ):
        ada.add(cron="0 * * * *", if_running="allow")
        service.work = lambda call: (
            failing(call) if call.slot in (at("03:00"), at("05:00")) else None
        )
        service.go("09:01")
        service.calls.clear()
        midnight, night = at("00:00"), (at("00:00"), at("09:00"))
        first = ada("backfill", 1, *night)
        service.go("09:02")
        assert (first.slots, first.left_out) == (9, 1), "a slot of the day has succeeded as well"
        assert filled(service, 1, since=midnight) == list(range(9))

        service.calls.clear()
        second = ada("backfill", 1, *night)
        service.go("09:03")

        assert (second.slots, second.left_out) == (2, 8)
        assert filled(service, 1, since=midnight) == [3, 5]

    @pytest.mark.mission("H8")
    def test_a_backfill_that_is_asked_for_again_runs_every_slot(self, service: House, ada: Person):
        ada.add(cron="0 * * * *", if_running="allow")
        night = at("00:00"), at("07:30")
        ada("backfill", 1, *night)
        service.go("08:01")
        service.calls.clear()

        nothing = ada("backfill", 1, *night)
        service.go("08:02")
        again = ada("backfill", 1, *night, again=True)
        service.go("08:03")

        assert (nothing.slots, nothing.left_out) == (0, 8)
        assert (again.slots, again.left_out) == (8, 0)
        assert filled(service, 1, since=at("00:00")) == list(range(8))

    @pytest.mark.mission("H8")
    def test_a_backfill_leaves_out_a_slot_whose_run_is_open(self, service: House, ada: Person):
        ada.add(cron="0 * * * *", if_running="allow")
        service.work = lambda call: service.sleep(HOUR) if call.slot == at("09:00") else None
        service.go("09:01")

        found = ada("backfill", 1, at("08:00"), at("09:00"))
        service.go("09:02")

        assert (found.slots, found.left_out) == (1, 1)
        assert service.slots() == [at("09:00"), at("08:00")]

    @pytest.mark.mission("E7", "E5")
    def test_ten_manual_runs_that_fail_pause_a_schedule_of_the_preset_agent(
        self, service: House, ada: Person
    ):
        ada.add("agent", every="1h", preset="agent")
        ada.add("other", every="1h", max_consecutive_errors=10)
        service.work = failing
        for minute in range(10):
            assert {service.schedule(1).status, service.schedule(2).status} == {Status.ACTIVE}
            ada("run", "agent")
            ada("run", "other")
            service.go(f"08:{minute + 1:02}")

        agent, other = service.schedule(1), service.schedule(2)
        assert (agent.status, agent.status_reason) == (Status.PAUSED, "consecutive_errors")
        assert (agent.consecutive_errors, agent.last_result) == (10, "error")
        assert (other.status, other.consecutive_errors, other.error_count) == (Status.ACTIVE, 0, 10)
        assert (agent.next_slot, other.next_slot) == (None, at("09:00"))
        error = ada.refused("run", "agent")
        assert (type(error), error.status) == (WrongState, 400)

    @pytest.mark.mission("E7")
    def test_failures_of_a_backfill_pause_no_schedule_of_the_preset_agent(
        self, service: House, ada: Person
    ):
        ada.add(cron="0 * * * *", preset="agent", max_consecutive_errors=1)
        service.work = failing

        ada("backfill", 1, at("06:00"), at("07:00"))
        service.go("08:01")

        assert service.states() == ["failed", "failed"]
        assert (service.schedule().status, service.schedule().consecutive_errors) == (
            Status.ACTIVE,
            0,
        )


def filled(service: House, identity: int, since: int) -> list[int]:
    """The slots of the runs that were really called, in hours after that instant."""
    calls = [call for _, call in service.calls if call.run_id.startswith(f"{identity}-")]
    return sorted((call.slot - since) // HOUR for call in calls)


@pytest.mark.mission("P11")
class TestDeletingWhatRuns:
    """As the second seed does: it succeeds, and the attempt that runs is the last."""

    @pytest.mark.parametrize("ending", ["succeeded", "failed: deleted"])
    def test_succeeds_and_the_attempt_is_the_last_however_it_ends(
        self, service: House, ada: Person, ending: str
    ):
        ada.add(every="1h", max_retries="endless", retry_delay="1m", if_running="queue")
        service.work = partial(work_for_ten_minutes, service, fails=ending != "succeeded")
        service.go("09:05")
        assert service.states() == ["running"]

        (gone,) = ada("delete", "nightly", though_running=True)

        assert (gone.id, service.states()) == (1, ["running"]), "the attempt goes on"
        assert ada.add("nightly", every="1d").id == 2, "its key is free"
        service.go("11:00")
        assert (service.states(), service.started()) == ([ending], ["1-0"])

    def test_a_worker_that_dies_meanwhile_does_not_bring_it_back(self, service: House, ada: Person):
        ada.add(every="1h")
        service.work = partial(work_for_ten_minutes, service, fails=False)
        service.go("09:05")
        ada("delete", 1, though_running=True)

        service.restart()
        service.go("11:00")

        assert (service.states(), service.started()) == (["lost: deleted"], ["1-0"])

    def test_all_are_deleted_though_one_of_them_runs(self, service: House, ada: Person):
        ada.add("idle", every="1d")
        ada.add("busy", every="1h")
        service.work = partial(work_for_ten_minutes, service, fails=False)
        service.go("09:05")

        gone = ada("delete", 1, 2, 77, ignores_missing=True, though_running=True)

        assert [each.id for each in gone] == [1, 2]
        assert [row.verb for row in audit(service)][-2:] == ["delete", "delete"]


async def work_for_ten_minutes(service: House, call: Call, *, fails: bool) -> None:
    await service.sleep(10 * MINUTE)
    if fails:
        failing(call)


class TestWhatIsGoneOrCannotBeRead:
    def test_a_run_of_a_deleted_schedule_is_not_tried_again(self, service: House, ada: Person):
        ada.add(every="1h")
        service.work = failing
        service.go("09:01")
        ada("delete", 1)
        service.go("11:00")

        error = ada.refused("retry", "1-0")

        assert (type(error), error.status) == (WrongState, 400)
        assert str(error) == 'schedule "nightly" was deleted; add it again'

    def test_a_run_that_outlives_its_schedule_can_be_stopped(self, service: House, ada: Person):
        ada.add(every="1h")
        service.work = lambda call: service.sleep(5 * HOUR)
        service.go("09:01")
        service.ask(1, partial(rules.delete, though_running=True))

        assert ada("cancel", "1-0").cancel == "requested"
        service.go("09:02")

        assert service.states() == ["cancelled: requested"]
        row = audit(service)[-1]
        assert (row.before, row.after) == (
            {"run": "1-0", "state": "running"},
            {"run": "1-0", "state": "running", "cancel": "requested"},
        )

    @pytest.mark.parametrize("body", ["{", "{}", '{"every": "1h"}'])
    def test_a_definition_that_cannot_be_read_is_edited_whole_or_deleted(
        self, service: House, ada: Person, body: str
    ):
        for key in ("a", "b"):
            ada.add(key, every="1h")
        service.meddle(f"update specifications set body = '{body}'")
        service.store._known._kept.clear()
        for verb, what in [("pause", ()), ("run", ()), ("backfill", (at("01:00"), at("02:00")))]:
            error = ada.refused(verb, "a", *what)
            assert (type(error), "edit or delete it" in str(error)) == (WrongState, True)

        edited = ada("edit", "a", {"task": "work", "every": "2h"})
        ada("delete", "b")
        service.go("10:01")

        assert (edited.status, service.slots(1)) == (Status.ACTIVE, [at("10:00")])


class TestTheAudit:
    def test_says_who_when_what_was_and_what_became_of_it(self, service: House, ada: Person):
        ada.add(every="1h", payload={"n": 1})
        service.go("08:30")
        Person(service, by="bob")("edit", 1, {"every": "2h", "payload": {"n": 2}})
        ada("pause", 1, reason="repairs")

        created, edited, paused = audit(service)

        assert (created.by, created.verb, created.before) == ("ada", "create", None)
        assert created.after == {"key": "nightly", "version": 1}
        assert (edited.by, edited.at, edited.schedule_id) == ("bob", at("08:30"), 1)
        assert edited.before == {
            "next_slot": "2026-11-16T09:00:00Z",
            "version": 1,
            "every": "1h",
            "payload": {"n": 1},
        }
        assert edited.after == {
            "next_slot": "2026-11-16T10:30:00Z",
            "version": 2,
            "every": "2h",
            "payload": {"n": 2},
        }
        assert paused.after is not None
        assert paused.after["status_reason"] == "repairs"

    def test_has_a_row_for_every_verb_and_knows_its_run(self, service: House, ada: Person):
        ada.add(every="1h")
        service.work = failing
        ada("run", 1)
        service.go("08:01")
        ada("retry", "1-0")
        ada("cancel", "1-1")
        ada("pause", 1)
        ada("resume", 1)
        ada("backfill", 1, at("07:00"), at("08:00"))
        service.go("08:02")
        ada("delete", 1)

        rows = audit(service)

        verbs = ["create", "run", "retry", "cancel", "pause", "resume", "backfill", "delete"]
        assert [row.verb for row in rows] == verbs
        assert [row.run_id for row in rows[1:4]] == ["1-0", "1-1", "1-1"]
        assert rows[3].before == {"run": "1-1", "state": "queued"}
        assert rows[3].after == {"run": "1-1", "state": "cancelled"}
        assert (rows[7].after, (rows[7].before or {})["key"]) == (None, "nightly")
        requests = {run.id: run.request for run in service.runs()}
        assert (requests["1-0"], requests["1-1"]) == (rows[1].id, rows[2].id)

    def test_cannot_be_changed(self, service: House, ada: Person):
        ada.add(every="1h")
        stays = "what was written into the audit stays"
        with pytest.raises((apsw.ConstraintError, asyncpg.RaiseError), match=stays):
            service.meddle("update audit set by = 'nobody'")


class TestADeclaredHouse:
    FILE = "/etc/quarterjack.yaml"

    def declared(self, service: House) -> None:
        service.add("declared", every="1h")
        service.meddle("update schedules set origin = 'declaration', owner = 'default'")

    def test_what_is_declared_is_paused_and_run_but_neither_edited_nor_deleted(
        self, service: House
    ):
        ada = Person(service, ServiceSettings(file=self.FILE))
        self.declared(service)
        for verb, what in [("edit", (1, {"every": "2h"})), ("delete", (1,))]:
            error = ada.refused(verb, *what)
            assert (type(error), error.status) == (Conflict, 409)
            assert str(error) == f'schedule "declared" is declared in {self.FILE}; {verb} it there'
        ada("run", 1)
        ada("pause", 1)

    def test_of_another_declaration_only_the_name_is_known(self, service: House):
        ada = Person(service, ServiceSettings(name="other", file=self.FILE))
        self.declared(service)
        assert 'is declared in the declaration "default"' in str(ada.refused("delete", 1))

    def test_where_only_the_declaration_counts_nothing_is_asked_from_outside(self, service: House):
        ada = Person(service, ServiceSettings(file=self.FILE, declared_only=True))
        self.declared(service)
        for verb, what in [
            ("create", ({"task": "work", "every": "1h"},)),
            ("edit", (1, {"every": "2h"})),
            ("delete", (1,)),
            ("pause", (1,)),
            ("run", (1,)),
        ]:
            error = ada.refused(verb, *what)
            assert (type(error), error.status) == (Conflict, 409), verb
            assert f"only {self.FILE} says what is scheduled here" in str(error)

    def test_but_what_no_file_can_say_is_still_asked(self, service: House):
        ada = Person(service, ServiceSettings(file=self.FILE, declared_only=True))
        self.declared(service)
        service.work = lambda call: service.sleep(HOUR)
        service.go("09:00")
        ada("cancel", "1-0")
        service.ask(1, rules.pause, by="quarterjack")

        assert [each.status for each in ada("resume", 1)] == [Status.ACTIVE]


class TestLimits:
    @pytest.mark.mission("E8")
    def test_no_more_than_max_scheduled_jobs_are_active(self, service: House):
        ada = Person(service, ServiceSettings(limits=Limits(max_scheduled_jobs=3)))
        new = {"task": "work", "every": "1h"}
        ada("create", new, new)
        error = ada.refused("create", new, new)
        assert (type(error), error.status) == (Conflict, 409)
        assert "max_scheduled_jobs is 3; pause or delete one, or raise the limit" in str(error)
        ada("create", new)

        ada("pause", 1)
        ada("create", new)

        assert "max_scheduled_jobs" in str(ada.refused("resume", 1))
        ada("edit", 2, {"every": "2h"})
        ada("delete", 2)
        ada("resume", 1)

    @pytest.mark.mission("E8")
    def test_where_no_limit_is_said_a_thousand_agents_are_active_and_any_number_of_others(
        self, service: House, ada: Person
    ):
        agent = {"task": "work", "every": "1h", "preset": "agent"}
        ada("create", *[agent] * 999)
        error = ada.refused("create", agent, agent)
        assert (type(error), error.status) == (Conflict, 409)
        assert 'of the preset "agent" are active and max_scheduled_jobs is 1000; ' in str(error)
        ada("create", agent, *[{"task": "work", "every": "1h"}] * 3)

        ada("pause", 1)
        ada("create", agent)

        assert "max_scheduled_jobs is 1000" in str(ada.refused("resume", 1))
        ada("edit", 2, {"every": "2h"})
        ada("delete", 2)
        ada("resume", 1)

    @pytest.mark.mission("E8")
    def test_one_that_rests_only_for_a_while_keeps_its_place(self, service: House):
        ada = Person(service, ServiceSettings(limits=Limits(max_scheduled_jobs=2)))
        new = {"task": "work", "every": "1h"}
        ada("create", new, {**new, "enabled": False}, {**new, "enabled": False}, new)
        ada("pause", 1, until=at("10:00"))

        assert "max_scheduled_jobs" in str(ada.refused("create", new))
        assert [each.status for each in ada("resume", 1)] == [Status.ACTIVE], "its own"

    @pytest.mark.mission("E8")
    def test_the_errors_after_which_a_schedule_pauses_are_those_of_the_house(self, service: House):
        ada = Person(service, ServiceSettings(limits=Limits(max_consecutive_errors=2)))
        ada.add(every="1m")
        service.work = failing
        service.go("09:00")

        assert len(service.calls) == 2
        assert service.schedule().status_reason == "consecutive_errors"


class TestRecovering:
    @pytest.mark.mission("P10")
    def test_says_how_many_go_on_and_leaves_what_rests_alone(self, service: House, ada: Person):
        for key in ("killed", "asleep", "paused", "done"):
            ada.add(key, **({"at": "2026-11-16T08:30:00Z"} if key == "done" else {"every": "1h"}))
        service.work = lambda call: service.sleep(HOUR) if call.key == "killed" else None
        service.go("09:00")
        ada("pause", "paused")
        before = [service.schedule(identity) for identity in (3, 4)]
        service.sleep_until("12:30")

        def recovered() -> int:
            return service.run(recover(service.store, Limits(), service.clock.instant))

        assert recovered() == 2, "the attempt that was lost, and the newest slot of the other"
        assert recovered() == 0, "it is safe to repeat"
        assert [service.schedule(identity) for identity in (3, 4)] == before
        service.restart()
        service.work = lambda call: None
        service.go("12:31")
        assert service.states(1)[0] == "succeeded"
        assert service.slots(2)[-1] == at("12:00")
