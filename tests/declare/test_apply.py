"""Applying a declaration, on every store."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from harness.declare.declarations import apply_to, keys, start
from harness.store.node_info import pid_of_ended_process, register, register_worker
from harness.store.stores import StoreClient, new
from quarterjack import rules
from quarterjack.declare.declaration import Declaration
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import Status
from quarterjack.times.instants import SECOND

Declare: TypeAlias = Callable[[str], Declaration]
ONCE = "schedules:\n  once: {at: 2026-11-16T07:00:00Z, command: [x], delete_after_run: true, %s}\n"
ONE = "name: file\nschedules:\n  a: {every: 1h, command: [x], payload: {secret: 1}}\n"
OLD = "schedules:\n  a: {every: 1h, command: [x]}\n"
NEW = "schedules:\n  b: {every: 2h, command: [x]}\n"


def schedules(client: StoreClient) -> dict[str, tuple[Any, ...]]:
    found = client.reads.schedules()
    return {
        each.schedule.key: (
            each.schedule.id,
            each.schedule.version,
            each.schedule.status,
            each.stored.owner,
        )
        for each in found
    }


def preset_of(client: StoreClient, key: str) -> str | None:
    return client.reads.schedule(key).schedule.specification.preset


def run_due(client: StoreClient) -> None:
    """The run that is due succeeds."""
    client.plan()
    (claim,) = client.claim()
    client.settle((claim.run, client.outcome()))
    client.plan()


def test_the_stored_schedules_become_those_of_the_file(
    client: StoreClient, declared: Declare, logged: pytest.LogCaptureFixture
):
    apply_to(client, declared(ONE))
    client.go("08:05")
    again = apply_to(client, declared(ONE))
    client.go("08:10")
    two = ONE.replace("1h", "2h").replace("secret: 1", "secret: 2")
    apply_to(client, declared(two + "  b: {every: 1h, command: [x]}\n"))

    assert again[:3] == ([], [], [])
    assert schedules(client) == {"a": (1, 2, "active", "file"), "b": (2, 1, "active", "file")}

    apply_to(client, declared("name: file\nschedules: {}"))

    assert schedules(client) == {}
    assert [record.getMessage() for record in logged.records] == [
        "schedule added schedule=a",
        "schedule added schedule=b",
        "schedule changed schedule=a field=every old=1h new=2h",
        "schedule changed schedule=a field=payload",
        "schedule removed schedule=a",
        "schedule removed schedule=b",
    ]
    assert "secret" not in logged.text


def test_the_keys_of_others_are_refused_and_their_schedules_stay(
    client: StoreClient, declared: Declare
):
    theirs = new("theirs", client.now, every="1h")._replace(owner="other", origin="declaration")
    client.add_all([new("mine", client.now, every="1h")._replace(owner="default"), theirs])
    apply_to(client, declared("schedules: {}"))
    assert keys(client) == ["mine", "theirs"]

    for key, owner in [("mine", "people"), ("theirs", 'the declaration "other"')]:
        text = f"schedules:\n  {key}: {{every: 1h, command: [x]}}\n"
        with pytest.raises(Conflict, match=f'q.yaml:2: schedule "{key}" belongs to {owner}; use'):
            apply_to(client, declared(text))


def test_an_invalid_schedule_is_applied_again(client: StoreClient, declared: Declare):
    apply_to(client, declared(ONE))
    client.change(1, lambda facts, now: rules.invalidate(facts, "odd"))
    assert schedules(client)["a"][2] == Status.INVALID

    apply_to(client, declared(ONE))

    assert schedules(client)["a"][1:3] == (2, Status.ACTIVE)


@pytest.mark.mission("D12")
def test_a_one_shot_that_fired_and_was_deleted_is_not_added_again(
    client: StoreClient, declared: Declare
):
    apply_to(client, declared(ONCE % ""))
    run_due(client)
    assert schedules(client) == {}

    apply_to(client, declared(ONCE % ""))

    assert schedules(client) == {}


@pytest.mark.mission("D12", "D10")
def test_a_one_shot_that_fired_before_presets_were_stored_is_not_added_again(
    client: StoreClient, declared: Declare
):
    """All fields of its definition are as the preset has them, so it is the same."""
    apply_to(client, declared(ONCE % "if_running: allow, timeout: none"))
    run_due(client)

    apply_to(client, declared(ONCE % "preset: horsies"))

    assert schedules(client) == {}


@pytest.mark.mission("D10")
def test_another_preset_is_stored_even_if_all_fields_are_equal(
    client: StoreClient, declared: Declare
):
    text = "schedules: {a: {every: 1h, command: [x], max_consecutive_errors: 10}}\n"
    apply_to(client, declared(text))
    assert preset_of(client, "a") is None

    apply_to(client, declared(f"preset: agent\n{text}"))

    assert (preset_of(client, "a"), schedules(client)["a"][1]) == ("agent", 2)


def test_a_pause_by_an_operator_survives_a_change(client: StoreClient, declared: Declare):
    apply_to(client, declared(ONE))
    client.change(1, rules.pause, by="ada")

    apply_to(client, declared(ONE.replace("1h", "2h")))

    assert schedules(client)["a"][1:3] == (2, Status.PAUSED)


def test_nothing_is_logged_if_the_transaction_fails(
    client: StoreClient, declared: Declare, logged: pytest.LogCaptureFixture
):
    apply_to(client, declared("schedules:\n  a: {every: 1h, command: [x]}\n"))
    logged.clear()

    limited = "limits: {max_scheduled_jobs: 1}\nschedules:\n" + "".join(
        f"  {key}: {{every: 2h, command: [x]}}\n" for key in ("b", "c")
    )
    with pytest.raises(Conflict, match="max_scheduled_jobs is 1"):
        apply_to(client, declared(limited))

    assert keys(client) == ["a"]
    assert logged.messages == []


def test_a_declared_schedule_is_validated_once(
    client: StoreClient, declared: Declare, monkeypatch: pytest.MonkeyPatch
):
    original, read = rules.read_specification, []

    def counting(*values: Any, **named: Any) -> rules.Specification:
        read.append(named["key"])
        return original(*values, **named)

    for name, module in list(sys.modules.items()):
        if name.startswith("quarterjack") and hasattr(module, "read_specification"):
            monkeypatch.setattr(module, "read_specification", counting)
    text = "schedules:\n" + "".join(f"  {key}: {{every: 1h, command: [x]}}\n" for key in "abc")

    apply_to(client, declared(text))

    assert read == ["a", "b", "c"]
    assert keys(client) == ["a", "b", "c"]


@pytest.mark.fault("F62")
class TestAnOlderRevision:
    def test_is_not_applied_while_a_node_with_a_later_one_is_alive(
        self, client: StoreClient, declared: Declare, logged: pytest.LogCaptureFixture
    ):
        start(client, declared(OLD), "n1")
        start(client, declared(NEW), "n2")
        client(client.store.unregister("n1"))

        found = start(client, declared(OLD), "n1")

        assert (keys(client), found.is_refused) == (["b"], True)
        assert "not applied; retrying until no node runs a later revision" in logged.text
        assert "q.yaml declaration=q node=n2" in logged.text

    def test_is_applied_if_no_node_with_a_later_one_is_left(
        self, client: StoreClient, declared: Declare
    ):
        start(client, declared(OLD), "n1")
        start(client, declared(NEW), "n2")
        for name in ("n1", "n2"):
            client(client.store.unregister(name))

        start(client, declared(OLD), "n1")
        start(client, declared(NEW), "n2")

        assert keys(client) == ["a"], "the old one is now the one that was applied last"

    def test_is_applied_if_the_node_with_the_later_one_is_dead(
        self, client: StoreClient, declared: Declare
    ):
        start(client, declared(OLD), "n1")
        client(client.store.unregister("n1"))
        long_ago = client.store.now() - 21 * SECOND
        later = declared(NEW)
        register(client, "n2", later.revision, pid=pid_of_ended_process(), seen_at=long_ago)
        apply_to(client, later)

        start(client, declared(OLD), "n1")

        assert keys(client) == ["a"]


NEEDS_TASK = "name: file\nschedules:\n  a: {every: 1h, task: %s}\n"


class TestWhatWorkersCanRun:
    """A declaration is refused if no live worker can run it; its own workers may come later."""

    def test_a_task_that_no_live_worker_has_is_refused(
        self, client: StoreClient, declared: Declare
    ):
        register_worker(client, "worker", ["command"])

        with pytest.raises(InvalidSpecification, match='"task" cannot be run by any live worker'):
            apply_to(client, declared(NEEDS_TASK % "report"))

        assert keys(client) == []

    def test_a_node_with_the_same_declaration_counts_though_it_only_plans(
        self, client: StoreClient, declared: Declare
    ):
        declaration = declared(NEEDS_TASK % "report")
        register_worker(client, "worker", ["command"])
        register_worker(client, "scheduler", ["task"], works=False, revision=declaration.revision)

        apply_to(client, declaration)

        assert keys(client) == ["a"]

    def test_another_node_that_only_plans_does_not_count(
        self, client: StoreClient, declared: Declare
    ):
        register_worker(client, "worker", ["command"])
        register_worker(client, "scheduler", ["task"], works=False)

        with pytest.raises(InvalidSpecification, match='"task" cannot be run by any live worker'):
            apply_to(client, declared(NEEDS_TASK % "report"))

    def test_a_worker_that_has_ended_does_not_count(self, client: StoreClient, declared: Declare):
        register_worker(client, "worker", ["command"])
        register_worker(client, "old", ["task"], pid=pid_of_ended_process())

        with pytest.raises(InvalidSpecification, match='"task" cannot be run by any live worker'):
            apply_to(client, declared(NEEDS_TASK % "report"))

    def test_without_a_worker_everything_is_accepted(self, client: StoreClient, declared: Declare):
        register_worker(client, "scheduler", ["command"], works=False)

        apply_to(client, declared(NEEDS_TASK % "report"))

        assert keys(client) == ["a"]


def test_a_declared_schedule_has_no_user(client: StoreClient, declared: Declare):
    """Its work runs as the service. One that a person creates has its owner."""
    apply_to(client, declared(ONE.replace("1h,", "1h, first_run: now,")))
    hers = new("b", client.now, every="1h", first_run="now", command=["x"])
    client.add_all([hers._replace(owner="ada")])
    client.plan()

    owners = {claim.run.schedule_id: claim.owner for claim in client.claim()}

    assert owners == {1: None, 2: "ada"}
