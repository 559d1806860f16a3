"""Nodes: which processes work on a database, and which of them are still there.

On PostgreSQL each says so with every beat of its heart. A SQLite file is used on one host, which
can be asked; there a node writes nothing while there is nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quarterjack.clock import is_running
from quarterjack.errors import Conflict
from quarterjack.rules import Facts, with_outage_until
from quarterjack.store.rows import planning_row
from quarterjack.store.statements import Query, QueryMany, Statements
from quarterjack.store.transactions.facts import read_planning
from quarterjack.store.types import NodeInfo
from quarterjack.times.instants import SECOND

CLOCKS_APART = SECOND
"""A host whose clock differs by more is told of."""
LIVES_FOR = 20 * SECOND
"""After its last beat; more than three of them may be lost."""


def is_seen(node: NodeInfo, now: int) -> bool:
    """Has it been heard of lately?"""
    return node.seen_at > now - LIVES_FOR


def runs_here(node: NodeInfo) -> bool | None:
    """Does its process run on this host, which can be asked for it? None if it is another's."""
    return is_running(node.pid, node.process)


def register(node: NodeInfo, is_alive: Callable[[NodeInfo], bool]) -> Statements[None]:
    # Locked first, so that of two planners that start at once the second sees the other.
    shared = yield from read_planning(Facts(()), is_locked=True)
    others = yield from read_nodes()
    if any(_is_one(other, node) for other in others):
        return  # it was told to us that the connection was lost, and yet it was done
    if any(other.name == node.name for other in others):
        remedy = "start it again, which gives it another one"
        raise Conflict(f"another node is called {node.name} already; {remedy}")
    gone = [(other.name,) for other in others if not is_alive(other)]
    if gone:
        yield QueryMany("remove_node", gone)
    yield QueryMany("add_node", [node])
    if node.plans and not any(other.plans and is_alive(other) for other in others):
        yield from _note_outage(shared, node.seen_at)


def _note_outage(shared: Facts, now: int) -> Statements[None]:
    """Until this moment no planner was alive. The start counts as a look, so that what comes due
    from now on is not taken for missed."""
    shared = with_outage_until(shared, now)
    yield QueryMany(
        "put_planner_state", [planning_row(now, shared.outage, shared.pace, shared.agents)]
    )


def is_planned(is_alive: Callable[[NodeInfo], bool]) -> Statements[bool]:
    """Is a planner alive?"""
    nodes = yield from read_nodes()
    return any(node.plans and is_alive(node) for node in nodes)


def _is_one(one: NodeInfo, other: NodeInfo) -> bool:
    identities = [(node.name, node.host, node.pid, node.started_at) for node in (one, other)]
    return identities[0] == identities[1]


def unregister(name: str) -> Statements[None]:
    yield Query("remove_node", (name,))


def read_nodes() -> Statements[Sequence[NodeInfo]]:
    rows = yield Query("list_nodes")
    return [NodeInfo._make((*row[:3], bool(row[3]), bool(row[4]), *row[5:13])) for row in rows]
