"""Editions of one declaration on several nodes: an older one does not undo a later one."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.store.stores import STORES, Asking, asking, query
from quarterjack.clock import host_and_pid, process_identity
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.reconciler import Reconciler
from quarterjack.declare.revisions import Revisions, revision_of
from quarterjack.errors import Conflict
from quarterjack.store.types import NodeInfo
from quarterjack.times.instants import SECOND

OLD = "schedules:\n  a: {every: 1h, command: [x]}\n"
NEW = "schedules:\n  b: {every: 2h, command: [x]}\n"


@pytest.fixture(params=STORES)
def ask(request: pytest.FixtureRequest, tmp_path: Path):
    with asking(request.param, tmp_path) as found:
        yield found


@pytest.fixture
def said(tmp_path: Path) -> Callable[[str], Declaration]:
    def read(text: str) -> Declaration:
        (tmp_path / "q.yaml").write_text(text)
        return read_declaration(tmp_path / "q.yaml")

    return read


def node(
    name: str, ask: Asking, declaration: Declaration | None = None, **words: object
) -> NodeInfo:
    """One that lives, for as long as these tests do."""
    revision = "none" if declaration is None else revision_of(declaration)
    kind = (True, True, "1.0", "2026a", "default", revision)
    since, now = time.time_ns() // 1000, ask.store.now()
    host, pid = host_and_pid()
    process = process_identity(pid)
    return NodeInfo(name, host, pid, *kind, since, now, process=process)._replace(**words)


def keys(ask: Asking) -> list[str]:
    return [found.schedule.key for found in ask.reads.schedules()]


def start(ask: Asking, declaration: Declaration, name: str) -> None:
    """As a node does."""
    ask(ask.store.register(node(name, ask, declaration)))
    ask(apply(ask.store, declaration, ask.now))


@pytest.mark.fault("F62")
class TestAnOlderEdition:
    def test_is_not_applied_while_a_node_runs_a_later_one(
        self, ask: Asking, said: Callable[[str], Declaration], caplog: pytest.LogCaptureFixture
    ):
        logging.getLogger("quarterjack").propagate = True
        start(ask, said(OLD), "n1")
        start(ask, said(NEW), "n2")
        ask(ask.store.unregister("n1"))

        start(ask, said(OLD), "n1")

        assert keys(ask) == ["b"]
        assert 'is an older edition of "default" than that of node n2' in caplog.text

    def test_is_gone_back_to_when_no_later_one_is_left(
        self, ask: Asking, said: Callable[[str], Declaration]
    ):
        start(ask, said(OLD), "n1")
        start(ask, said(NEW), "n2")
        for name in ("n1", "n2"):
            ask(ask.store.unregister(name))

        start(ask, said(OLD), "n1")
        start(ask, said(NEW), "n2")

        assert keys(ask) == ["a"], "now it is the old one that is the last"

    def test_waits_and_is_applied_when_the_later_one_has_left(
        self, ask: Asking, said: Callable[[str], Declaration]
    ):
        """As in a roll-out that starts new nodes before it stops the old ones."""
        start(ask, said(OLD), "n1")
        start(ask, said(NEW), "n2")
        ask(ask.store.unregister("n1"))
        ask(ask.store.register(node("n3", ask, said(OLD))))
        reconciler = Reconciler(ask.store, said(OLD))
        reconciler.waits = ask(apply(ask.store, said(OLD), ask.now)).is_refused

        ask(reconciler.step(ask.now))
        while_it_is_there = keys(ask)
        ask(ask.store.unregister("n2"))
        ask(reconciler.step(ask.now))

        assert (while_it_is_there, keys(ask), reconciler.waits) == (["b"], ["a"], False)

    def test_puts_nothing_back_that_a_later_one_has_removed(
        self, ask: Asking, said: Callable[[str], Declaration]
    ):
        start(ask, said(OLD), "n1")
        reconciler = Reconciler(ask.store, said(OLD))
        start(ask, said(NEW), "n2")

        ask(reconciler.step(ask.now))

        assert keys(ask) == ["b"]

    def test_of_a_node_that_is_dead_does_not_count(
        self, ask: Asking, said: Callable[[str], Declaration]
    ):
        start(ask, said(OLD), "n1")
        ask(ask.store.unregister("n1"))
        long_ago = ask.store.now() - 21 * SECOND
        dead = node("n2", ask, said(NEW), pid=pid_of_nobody(), seen_at=long_ago)
        ask(ask.store.register(dead))
        ask(apply(ask.store, said(NEW), ask.now))

        start(ask, said(OLD), "n1")

        assert keys(ask) == ["a"]


def pid_of_nobody() -> int:
    """Of a process that has just ended."""
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


class TestNodes:
    def test_are_seen_until_they_leave_or_die(self, ask: Asking):
        ask(ask.store.register(node("n1", ask)))
        for name in ("n2", "n3"):
            ask(ask.store.register(node(name, ask)))
        long_ago = ask.store.now() - 21 * SECOND
        query(
            ask, f"update nodes set seen_at = {long_ago}, pid = {pid_of_nobody()} where name > 'n1'"
        )
        assert [each.name for each in ask.reads.nodes()] == ["n1"]
        ask(ask.store.register(node("n4", ask)))
        ask(ask.store.unregister("n4"))

        assert [each.name for each in ask.reads.nodes()] == ["n1"]

    @pytest.mark.fault("F66")
    def test_cannot_have_the_same_name_twice(self, ask: Asking):
        ask(ask.store.register(node("n1", ask)))

        with pytest.raises(Conflict, match="another node is called n1 already; start it again"):
            ask(ask.store.register(node("n1", ask, started_at=1)))

    @pytest.mark.fault("F18")
    def test_may_register_again_if_nobody_told_them_that_it_was_done(self, ask: Asking):
        here = node("n1", ask)
        ask(ask.store.register(here))

        ask(ask.store.register(here._replace(seen_at=here.seen_at + 1)))

        assert [each.name for each in ask.reads.nodes()] == ["n1"]

    @pytest.mark.fault("F66")
    def test_of_cloned_machines_have_names_of_their_own(self, monkeypatch: pytest.MonkeyPatch):
        from quarterjack.clock import process_name

        monkeypatch.setattr("socket.gethostname", lambda: "web-1")
        monkeypatch.setattr("os.getpid", lambda: 1)

        assert process_name() != process_name()


def test_only_so_many_editions_are_remembered():
    revisions = Revisions({})
    for number in range(200):
        revisions = revisions.with_last(f"edition {number}")

    assert revisions.is_last("edition 199")
    assert revisions.is_before("edition 198", "edition 199")
    assert not revisions.is_before("edition 3", "edition 199"), "nobody remembers"
    assert len(revisions.to_text()) < 2000
    assert Revisions.from_text(revisions.to_text()) == revisions


def test_a_beat_tells_how_far_a_clock_is_ahead_and_that_the_node_lives(tmp_path: Path):
    with asking("PostgreSQL", tmp_path) as ask:
        ask(ask.store.register(node("n1", ask, seen_at=1)))
        assert ask.reads.nodes() == []

        heartbeat = ask(ask.store.heartbeat())
        (seen,) = ask.reads.nodes()

        assert seen.ahead == heartbeat.ahead
        assert abs(ask.clock.now() - ask.store.now() - seen.ahead) < SECOND


def test_a_node_that_was_taken_for_dead_is_there_again_with_its_next_beat(tmp_path: Path):
    with asking("PostgreSQL", tmp_path) as ask:
        ask(ask.store.register(node("n1", ask)))
        (before,) = ask.reads.nodes()
        query(ask, "delete from nodes")

        heartbeat = ask(ask.store.heartbeat())

        (again,) = ask.reads.nodes()
        assert again == before._replace(seen_at=again.seen_at, ahead=heartbeat.ahead)
