"""Nodes: which processes work on a database, and which of them are still there.

On PostgreSQL each says so with every beat of its heart. A SQLite file is used on one host, which
can be asked; there a node writes nothing while there is nothing to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quarterjack.clock import is_running
from quarterjack.errors import Conflict
from quarterjack.store.steps import Ask, Many, Steps
from quarterjack.store.values import Present
from quarterjack.times.instants import SECOND

CLOCKS_APART = SECOND
"""A host whose clock differs by more is told of."""
LIVES_FOR = 20 * SECOND
"""After its last beat; more than three of them may be lost."""


def is_seen(node: Present, now: int) -> bool:
    """Has it been heard of lately?"""
    return node.seen_at > now - LIVES_FOR


def is_on_this_host(node: Present) -> bool:
    return is_running(node.host, node.pid, node.started_at)


def register(node: Present, is_alive: Callable[[Present], bool]) -> Steps[None]:
    others = yield from read_nodes()
    if any(_is_one(other, node) for other in others):
        return  # it was told to us that the connection was lost, and yet it was done
    if any(other.name == node.name for other in others):
        remedy = "start it again, which gives it another one"
        raise Conflict(f"another node is called {node.name} already; {remedy}")
    gone = [(other.name,) for other in others if not is_alive(other)]
    if gone:
        yield Many("forget_node", gone)
    yield Many("add_node", [node])


def _is_one(one: Present, other: Present) -> bool:
    identities = [(node.name, node.host, node.pid, node.started_at) for node in (one, other)]
    return identities[0] == identities[1]


def unregister(name: str) -> Steps[None]:
    yield Ask("forget_node", (name,))


def read_nodes() -> Steps[Sequence[Present]]:
    rows = yield Ask("list_nodes")
    return [Present._make((*row[:3], bool(row[3]), bool(row[4]), *row[5:12])) for row in rows]
