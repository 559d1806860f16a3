"""Declarations on every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from harness.rules.values import at
from harness.store.stores import StoreClient, new
from quarterjack import rules
from quarterjack.errors import Conflict
from quarterjack.rules import Specification, State
from quarterjack.store.types import (
    DeclarationRules,
    Declared,
    Difference,
    NewSchedule,
    StoredSchedule,
)

RULES = DeclarationRules(
    create=lambda identity, new, active: rules.create(
        identity, new.key, new.specification, at("08:00"), active=active, limits=rules.Limits()
    ),
    edit=rules.edit,
    delete=lambda facts, now: rules.delete(facts, now, though_running=True),
)


def declare(
    client: StoreClient,
    keys: Sequence[str],
    added: Sequence[NewSchedule] = (),
    changed: Mapping[str, Specification] = {},
    removed: Sequence[str] = (),
) -> list[StoredSchedule]:
    """Apply this difference. Returns the schedules that the declaration sees."""
    seen: list[StoredSchedule] = []

    def difference(stored: Sequence[StoredSchedule], _: Declared) -> Difference:
        seen.extend(stored)
        schedules = {each.schedule.key: each.schedule for each in stored}
        return Difference(
            added,
            [(schedules[key], specification) for key, specification in changed.items()],
            [schedules[key] for key in removed],
        )

    client(client.store.declare_schedules("file", keys, difference, RULES, client.now))
    return seen


def owned(client: StoreClient, key: str, **fields: object) -> NewSchedule:
    return new(key, client.now, **fields)._replace(owner="file", origin="declaration")


def test_a_difference_is_applied_in_one_transaction(client: StoreClient):
    first = [owned(client, key, every="1h") for key in "ab"]
    declare(client, ["a", "b"], first)
    changed = new("a", client.now, every="2h").specification
    added = [owned(client, "c", every="1h")]

    seen = declare(client, ["a", "c"], added, {"a": changed}, ["b"])

    assert [each.schedule.key for each in seen] == ["a", "b"]
    found = client.reads.schedules()
    assert [(each.schedule.key, each.schedule.version) for each in found] == [
        ("a", 2),
        ("c", 1),
    ]
    assert client(client.store.count_owned("file")) == 2


def test_nothing_is_changed_if_one_part_is_refused(client: StoreClient):
    client.add("taken", every="1h")
    declare(client, ["a"], [owned(client, "a", every="1h")])

    with pytest.raises(Conflict):
        declare(client, [], [owned(client, "taken", every="1h")], removed=["a"])

    assert [each.schedule.key for each in client.reads.schedules()] == ["taken", "a"]


def test_a_running_attempt_of_a_removed_schedule_is_settled(client: StoreClient):
    declare(client, ["a"], [owned(client, "a", every="1h")])
    client.go("09:00")
    client.plan()
    (claim,) = client.claim()

    declare(client, [], removed=["a"])
    client.settle((claim.run, client.outcome()))

    assert client.reads.run("1-0")[0].run.state is State.SUCCEEDED
    assert client.plan().next_wake is None


@pytest.mark.parametrize(
    ("ending", "words"), [("failed", {}), ("lost", {}), ("lost", {"handed_back": True})]
)
def test_a_run_of_a_removed_schedule_is_not_retried(
    client: StoreClient, ending: str, words: dict[str, Any]
):
    wanted = owned(client, "a", every="1h", max_retries=3, retry_delay="30s")
    declare(client, ["a"], [wanted])
    client.go("09:00")
    client.plan()
    (claim,) = client.claim()

    declare(client, [], removed=["a"])
    client.settle((claim.run, client.outcome(ending, **words)))
    client.go("09:05")

    run = client.reads.run("1-0")[0].run
    assert (run.state, run.reason, run.attempt) == (ending, "deleted", 1)
    assert client.claim("w2") == []


def test_a_removed_schedule_whose_breaker_opens_does_not_block_its_plugin(client: StoreClient):
    breaker = {"threshold": 1, "reset_after": "10m"}
    plugin = {"every": "1h", "plugin": "p", "circuit_breaker": breaker}
    gone = owned(client, "gone", max_retries=3, retry_delay="30s", **plugin)
    declare(client, ["gone"], [gone])
    client.go("09:00")
    client.plan()
    (claim,) = client.claim()
    declare(client, [], removed=["gone"])
    client.settle((claim.run, client.outcome("failed")))

    other = client.add("other", **plugin)
    for hour in (10, 11, 12):
        client.go(f"{hour}:00")
        client.plan()
        (claim,) = client.claim()
        assert claim.run.schedule_id == other
        client.settle((claim.run, client.outcome()))

    assert client.reads.not_run(str(other)) == []


def test_a_declaration_sees_schedules_that_were_deleted_before(client: StoreClient):
    declare(client, ["a"], [owned(client, "a", every="1h")])
    client.change(1, rules.delete)

    seen = declare(client, ["a"])

    assert [(each.schedule.id, each.deleted_at) for each in seen] == [(1, client.now)]
