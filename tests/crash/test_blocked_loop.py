"""An async task that blocks the event loop of its node, beside another node that would take over.

`BLOCKED_SECONDS=30` runs the same with a block of 30 seconds and a lease of 10.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from harness.crash.blocked import BlockedNodes
from harness.store.server import server

pytestmark = [pytest.mark.unmeasured, pytest.mark.fault("F54")]
BLOCK = float(os.environ.get("BLOCKED_SECONDS", "6"))
LEASE = BLOCK / 3
STOPPING = 5
"""How long an attempt may take to end after its timeout."""

Nodes = Callable[[float, str], BlockedNodes]


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def nodes(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Nodes]:
    """Makes two nodes whose task blocks for so long, with this timeout."""
    url = f"sqlite:///{tmp_path}/q.db"
    if request.param == "PostgreSQL":
        url = f"{server().url}?schema=s{uuid4().hex[:12]}"
    made: list[BlockedNodes] = []

    def make(block: float, timeout: str) -> BlockedNodes:
        made.append(BlockedNodes(url, tmp_path, LEASE, block, timeout))
        return made[-1]

    yield make
    for each in made:
        each.kill()


def test_a_task_that_blocks_the_event_loop_past_its_lease_runs_once_and_is_named(nodes: Nodes):
    blocked = nodes(BLOCK, "none")

    run = blocked.run(3 * BLOCK + 20)

    assert (run["state"], run["attempt"], len(blocked.starts())) == ("succeeded", 1, 1)
    log = blocked.log_of(blocked.starts()[0])
    first = re.search("event loop blocked; make it a sync task.*", log)
    assert first, log
    assert re.search(r"run=1-0 schedule=block task=work at=\S+blocked.py:\d+ blocked=", first[0])
    (last,) = re.findall(r"event loop answers again run=1-0 .* blocked=(\d+\.\d)s", log)
    assert BLOCK - 2.5 <= float(last) <= BLOCK + 1


def test_a_task_that_blocks_the_event_loop_past_its_timeout_is_rescued_elsewhere(nodes: Nodes):
    """Only after the timeout, what a stop may take, and the lease."""
    block = 1 + STOPPING + 2 * LEASE + 2
    blocked = nodes(block, "1s")

    run = blocked.run(3 * block + 20)

    assert (run["state"], run["attempt"]) == ("succeeded", 2)
    first, second = blocked.starts()
    assert first != second
    assert "lease expired; attempt lost run=1-0" in blocked.log_of(second)
    assert "stale settlement ignored run=1-0" in (log := blocked.log_of(first)) or (
        "lease lost; attempt stopped run=1-0" in log
    )
