"""The node: when it is ready."""

from __future__ import annotations

import asyncio

from harness.engine.service import WORKER
from harness.rules.values import at
from harness.store.stored_world import ManualClock, memory_store
from quarterjack.engine.node import Node, NodeConfig


def test_a_node_is_ready_from_its_start_until_it_is_stopped():
    async def run() -> list[list[str]]:
        clock = ManualClock(at("08:00"))
        store = memory_store(clock)
        node = Node(store, {}, clock, NodeConfig(WORKER, grace_seconds=10))
        problems = [node.problems()]
        running = asyncio.create_task(node.run())
        await asyncio.sleep(0)
        problems.append(node.problems())
        node.stop()
        problems.append(node.problems())
        await running
        await store.close()
        return problems

    assert asyncio.run(run()) == [["starting"], [], ["stopping"]]
