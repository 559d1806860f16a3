"""Control requests on every store."""

from __future__ import annotations

import json

import pytest

from harness.rules.values import at
from harness.store.shortcuts import changes, started
from harness.store.stores import StoreClient, new, query
from quarterjack import rules
from quarterjack.errors import Conflict, NotFound, WrongState
from quarterjack.rules import Limits, Plans, State
from quarterjack.rules.policies.service_limits import DispatchRate
from quarterjack.store.types import Caller, DeclarationRules, Difference, NewSchedule
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND


def test_schedules_are_added_all_or_none(client: StoreClient):
    client.add("taken", every="1h")

    with pytest.raises(Conflict, match='the key "taken" is taken'):
        client.add_all([new("free", client.now, every="1h"), new("taken", client.now, every="1h")])

    assert [found.schedule.key for found in client.reads.schedules()] == ["taken"]


def test_an_id_is_never_reused(client: StoreClient):
    first = client.add("a", every="1h")
    client.change(first, rules.delete)
    prepared = [new("b", 0, every="1h")], lambda *_: 1 // 0
    with pytest.raises(ZeroDivisionError):
        client(client.store.add_schedules(lambda _: prepared, 0))  # type: ignore[return-value]

    second = client.add("a", every="2h")

    assert second > first
    assert client.reads.schedule("a").schedule.id == second


def test_specifications_of_a_rolled_back_transaction_are_not_cached(client: StoreClient):
    """Or a schedule that another node adds with the same id would run the wrong command."""
    client.add("edited", every="3h")
    edited = client.reads.schedule("edited").schedule

    def create(identity: int, each: NewSchedule, active: int) -> rules.Schedule:
        limits = Limits()
        return rules.create(
            identity, each.key, each.specification, client.now, active=0, limits=limits
        )

    def refuse(*_: object) -> rules.Plans:
        raise ZeroDivisionError("after another schedule was added")

    added = Difference([new("a", client.now, every="1h")], [(edited, edited.specification)], [])
    decisions = DeclarationRules(create=create, edit=refuse, delete=rules.delete)
    declare = client.store.declare_schedules
    with pytest.raises(ZeroDivisionError):
        client(declare("owner", ["a"], lambda *_: added, decisions, client.now))
    assert {identity for identity, _ in client.store._specifications._cached} <= {edited.id}
    client.add("a", every="2h")
    client.go("10:00")
    client.plan()
    assert [claim.specification.to_json()["every"] for claim in client.claim()] == ["2h"]


def test_an_unknown_schedule_is_refused(client: StoreClient):
    with pytest.raises(NotFound, match="there is no schedule 7"):
        client.change(7, rules.delete)


def test_a_refused_operation_changes_nothing(client: StoreClient):
    identity = client.add(every="1h")
    client.go("09:00")
    before = changes(client)

    with pytest.raises(WrongState):
        client.change(identity, rules.resume)

    assert changes(client) == before


def test_each_version_of_a_definition_is_stored(client: StoreClient):
    identity = client.add(every="1h")
    for hours in ("2h", "3h"):
        changed = new("nightly", client.now, every=hours, name=f"every {hours}").specification
        client.change(identity, lambda facts, now, new=changed: rules.edit(facts, new, now))

    found = client.reads.schedule("every 3h")
    assert (found.schedule.version, found.stored.name) == (3, "every 3h")
    rows = query(client, "select version, body from specifications order by version")
    assert [(version, json.loads(body)["every"]) for version, body in rows] == [
        (1, "1h"),
        (2, "2h"),
        (3, "3h"),
    ]


@pytest.mark.mission("D10")
def test_a_definition_keeps_the_preset_it_was_created_with(client: StoreClient):
    service = rules.ServiceSettings(preset="agent").specification
    wanted = {
        "own": service({"every": "1h", "task": "t", "preset": "horsies"}, KINDS, "own", client.now),
        "of its kind": service({"every": "1h", "plugin": "p"}, KINDS, "of its kind", client.now),
        "of the service": service(
            {"every": "1h", "task": "t"}, KINDS, "of the service", client.now
        ),
    }
    client.add_all([NewSchedule(key, each, None, "test") for key, each in wanted.items()])

    found = {each.schedule.key: each.schedule for each in client.reads.schedules()}

    assert {key: each.specification for key, each in found.items()} == wanted
    presets = [(each.own_preset, each.preset) for each in wanted.values()]
    assert presets == [("horsies", "horsies"), (None, "ductile"), (None, "agent")]


@pytest.mark.mission("E8")
def test_an_edit_cannot_exceed_the_limit_of_active_agent_schedules(client: StoreClient):
    agents = [new(f"a{n}", client.now, every="1h", preset="agent") for n in range(1000)]
    client.add_all([*agents, new("other", client.now, every="1h")])
    caller = Caller("ada", "test", "edit")

    def become_an_agent(which: str) -> Plans:
        edited = new(which, client.now, every="2h", preset="agent").specification
        return client(
            client.store.edit_schedule(which, lambda *_: edited, rules.edit, client.now, caller)
        )

    become_an_agent("a1")
    with pytest.raises(Conflict, match='1000 schedules of the preset "agent" are active'):
        become_an_agent("other")

    client.change("a1", rules.pause, by="ada")
    become_an_agent("other")
    counted = "select count(*) from schedules where preset = 'agent' and status = 'active'"
    assert query(client, counted) == [(1000,)]


def test_deleting_keeps_the_history_and_frees_the_key(client: StoreClient):
    run = started(client)
    client.settle((run, client.outcome()))
    client.change(run.schedule_id, rules.delete)

    assert client.reads.run(run.id)[0].run.state is State.SUCCEEDED
    assert client.reads.schedule("nightly").stored.deleted_at == client.now
    with pytest.raises(NotFound):
        client.change("nightly", rules.delete)
    assert client.add("nightly", every="1h") != run.schedule_id


def test_a_backfill_run_that_an_edit_plans_counts_in_the_dispatch_budget(client: StoreClient):
    """An edit plans up to now first. The next slot is not due, but the backfill is."""
    client.add(every="1m", limits=Limits(max_dispatch_per_tick=1))
    caller, night = Caller("ada", "test", "edit"), {"start": at("07:50"), "until": at("07:59")}
    client(
        client.store.change_schedule(
            1, lambda facts, now: rules.backfill(facts, now, **night), client.now, caller
        )
    )
    edited = new("nightly", client.now, every="1m", name="x").specification

    client(client.store.edit_schedule(1, lambda *_: edited, rules.edit, client.now, caller))

    assert client.reads.schedule("1").schedule.next_slot == at("08:01")
    assert [found.run.slot for found in client.reads.runs()] == [at("07:50")]
    ((rate,),) = query(client, "select pace from planner_state")
    assert DispatchRate._make(json.loads(rate)) == DispatchRate(client.now // SECOND, dispatched=1)
