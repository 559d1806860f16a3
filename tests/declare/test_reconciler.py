"""The reconciler, on every store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from harness.declare.declarations import apply_to, keys, start
from harness.rules.values import at
from harness.store.node_info import register
from harness.store.stores import StoreClient, query, statements
from quarterjack.declare.declaration import Declaration
from quarterjack.declare.reconciler import Reconciler

Declare: TypeAlias = Callable[[str], Declaration]
ONE = "name: file\nschedules:\n  a: {every: 1h, command: [x]}\n"
OLD = "schedules:\n  a: {every: 1h, command: [x]}\n"
NEW = "schedules:\n  b: {every: 2h, command: [x]}\n"


@pytest.mark.mission("H7")
def test_a_schedule_whose_row_was_removed_is_recreated_from_now_without_a_backlog(
    client: StoreClient, declared: Declare, logged: pytest.LogCaptureFixture
):
    declaration = declared(ONE)
    apply_to(client, declaration)
    reconciler = Reconciler(client.store, declaration)
    assert client(reconciler.step(at("08:00"))) == at("08:01")
    query(client, "delete from schedules")
    logged.clear()

    client.go("15:30")
    client(reconciler.step(client.now))
    planned = client.plan()

    assert client.reads.schedule("a").schedule.id == 2
    assert (planned.added, planned.next_wake) == (0, at("16:30"))
    assert logged.messages[-1] == "recreated missing schedules count=1"


def test_a_step_without_a_difference_only_counts_schedules(client: StoreClient, declared: Declare):
    declaration = declared(ONE)
    apply_to(client, declaration)
    reconciler = Reconciler(client.store, declaration)
    client(reconciler.step(client.now))

    with statements(client) as executed:
        client(reconciler.step(client.now))

    assert executed == ["count_owned"]


def test_schedules_of_a_later_declaration_are_not_removed(client: StoreClient, declared: Declare):
    """Another node may run a later declaration of the same name."""
    reconciler = Reconciler(client.store, declared(ONE))
    apply_to(client, declared(ONE + "  b: {every: 1h, command: [x]}\n"))

    client(reconciler.step(at("08:01")))

    assert keys(client) == ["a", "b"]


@pytest.mark.fault("F62")
class TestAnOlderRevision:
    def test_is_applied_when_no_node_with_a_later_one_is_alive_any_more(
        self, client: StoreClient, declared: Declare
    ):
        """As in a rolling update that starts new nodes before it stops the old ones."""
        start(client, declared(OLD), "n1")
        start(client, declared(NEW), "n2")
        client(client.store.unregister("n1"))
        register(client, "n3", declared(OLD).revision)
        is_older = apply_to(client, declared(OLD)).is_refused
        reconciler = Reconciler(client.store, declared(OLD), is_older=is_older)

        client(reconciler.step(client.now))
        with_later_node = keys(client)
        client(client.store.unregister("n2"))
        client(reconciler.step(client.now))
        with statements(client) as executed:
            client(reconciler.step(client.now))

        assert (is_older, with_later_node, keys(client)) == (True, ["b"], ["a"])
        assert executed == ["count_owned"], "it is applied once"

    def test_adds_nothing_that_a_later_one_has_removed(
        self, client: StoreClient, declared: Declare
    ):
        start(client, declared(OLD), "n1")
        reconciler = Reconciler(client.store, declared(OLD))
        start(client, declared(NEW), "n2")

        client(reconciler.step(client.now))

        assert keys(client) == ["b"]
