"""Nodes: the registered processes of a database, and which of them are alive.

On PostgreSQL each node writes a heartbeat. A SQLite file is used on one host, where the operating
system knows which processes run, so that a node without work writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quarterjack.clock import is_running
from quarterjack.errors import Conflict
from quarterjack.rules import Facts
from quarterjack.rules.policies.budgets import with_outage_at_start
from quarterjack.store.rows import planning_row
from quarterjack.store.statements import Query, QueryMany, Statements
from quarterjack.store.transactions.facts import budgets, read_planning
from quarterjack.store.types import NodeInfo
from quarterjack.times.instants import SECOND

CLOCK_SKEW_MAX = SECOND
"""A host whose clock differs by more is reported."""
NODE_TIMEOUT = 20 * SECOND
"""A node on another host is alive until so long after its last heartbeat, so three may be lost."""


def has_recent_heartbeat(node: NodeInfo, now: int) -> bool:
    return node.seen_at > now - NODE_TIMEOUT


def runs_on_this_host(node: NodeInfo) -> bool | None:
    """Does the process of the node run on this host? None if it belongs to another host."""
    return is_running(node.pid, node.process)


def register(node: NodeInfo, is_alive: Callable[[NodeInfo], bool]) -> Statements[None]:
    # Locked first, so that the second of two planners that start at once sees the first.
    shared = yield from read_planning(Facts(()), is_locked=True)
    others = yield from read_nodes()
    if any(_is_same(other, node) for other in others):
        return  # a retry: the connection was lost after the commit
    if any(other.name == node.name for other in others):
        remedy = "restart this one to get another name"
        raise Conflict(f"another node already has the name {node.name}; {remedy}")
    dead = [(other.name,) for other in others if not is_alive(other)]
    if dead:
        yield QueryMany("remove_node", dead)
    yield QueryMany("add_node", [node])
    if node.plans and not any(other.plans and is_alive(other) for other in others):
        yield from _record_outage(shared, node.seen_at)


def _record_outage(shared: Facts, now: int) -> Statements[None]:
    """No planner was alive until now. The start counts as a planner step, so that slots that come
    due from now on are not missed."""
    shared = with_outage_at_start(shared, now)
    yield QueryMany("put_planner_state", [planning_row(now, *budgets(shared))])


def live_workers(is_alive: Callable[[NodeInfo], bool]) -> Statements[Sequence[NodeInfo]]:
    nodes = yield from read_nodes()
    return [node for node in nodes if node.works and is_alive(node)]


def is_planner_alive(is_alive: Callable[[NodeInfo], bool]) -> Statements[bool]:
    nodes = yield from read_nodes()
    return any(node.plans and is_alive(node) for node in nodes)


def _is_same(one: NodeInfo, other: NodeInfo) -> bool:
    identities = [(node.name, node.host, node.pid, node.started_at) for node in (one, other)]
    return identities[0] == identities[1]


def unregister(name: str) -> Statements[None]:
    yield Query("remove_node", (name,))


def read_nodes() -> Statements[Sequence[NodeInfo]]:
    rows = yield Query("list_nodes")
    return [NodeInfo._make((*row[:3], bool(row[3]), bool(row[4]), *row[5:14])) for row in rows]
