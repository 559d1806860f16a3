"""Nodes on every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.store.node_info import node_info, pid_of_ended_process, register, register_worker
from harness.store.stores import StoreClient, open_client, query
from quarterjack.errors import Conflict
from quarterjack.times.instants import SECOND


def names(client: StoreClient) -> list[str]:
    return [each.name for each in client.reads.nodes()]


def test_nodes_are_listed_until_they_unregister_or_die(client: StoreClient):
    register(client, "n1")
    for name in ("n2", "n3"):
        register(client, name)
    long_ago = client.store.now() - 21 * SECOND
    query(
        client,
        f"update nodes set seen_at = {long_ago}, pid = {pid_of_ended_process()} where name > 'n1'",
    )
    assert names(client) == ["n1"]
    register(client, "n4")
    client(client.store.unregister("n4"))

    assert names(client) == ["n1"]
    assert query(client, "select name from nodes") == [("n1",)], "a start removes the dead"


@pytest.mark.fault("F66")
def test_a_name_in_use_is_refused(client: StoreClient):
    register(client, "n1")

    with pytest.raises(Conflict, match="another node already has the name n1; restart this one"):
        register(client, "n1", started_at=1)


@pytest.mark.fault("F18")
def test_a_registration_may_be_repeated_if_its_answer_was_lost(client: StoreClient):
    node = node_info(client, "n1")
    client(client.store.register(node))

    client(client.store.register(node._replace(seen_at=node.seen_at + 1)))

    assert names(client) == ["n1"]


def test_a_node_is_read_as_it_was_registered(client: StoreClient):
    register_worker(client, "n1", ["command", "task"], plans=False)
    register_worker(client, "n2", None, works=False)

    found = client.reads.nodes()

    assert [(each.plans, each.works, each.capabilities) for each in found] == [
        (False, True, '{"kinds": ["command", "task"]}'),
        (True, False, None),
    ]


def test_a_heartbeat_stores_how_far_the_clock_is_ahead_and_that_the_node_is_alive(tmp_path: Path):
    with open_client("PostgreSQL", tmp_path) as client:
        register(client, "n1", seen_at=1)
        assert names(client) == []

        heartbeat = client(client.store.heartbeat())
        (found,) = client.reads.nodes()

        assert found.ahead == heartbeat.ahead
        assert abs(client.clock.now() - client.store.now() - found.ahead) < SECOND


def test_a_node_that_was_removed_as_dead_is_added_by_its_next_heartbeat(tmp_path: Path):
    with open_client("PostgreSQL", tmp_path) as client:
        register(client, "n1")
        (before,) = client.reads.nodes()
        query(client, "delete from nodes")

        heartbeat = client(client.store.heartbeat())

        (again,) = client.reads.nodes()
        assert again == before._replace(seen_at=again.seen_at, ahead=heartbeat.ahead)
