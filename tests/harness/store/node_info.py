"""Nodes to register: their process is that of the tests, so they are alive as long as it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable

from harness.store.stores import StoreClient
from quarterjack.clock import host_and_pid, process_identity
from quarterjack.rules.definition.capabilities import Capabilities
from quarterjack.store.types import NodeInfo


def node_info(client: StoreClient, name: str, revision: str = "none", **fields: object) -> NodeInfo:
    now = client.store.now()
    host, pid = host_and_pid()
    node = NodeInfo(
        name=name,
        host=host,
        pid=pid,
        plans=True,
        works=True,
        program="1.0",
        zone_data="2026a",
        declaration="default",
        revision=revision,
        started_at=time.time_ns() // 1000,
        seen_at=now,
        process=process_identity(pid),
    )
    return node._replace(**fields)


def register(client: StoreClient, name: str, revision: str = "none", **fields: object) -> None:
    client(client.store.register(node_info(client, name, revision, **fields)))


def register_worker(
    client: StoreClient, name: str, kinds: Iterable[str] | None, **fields: object
) -> None:
    """A worker that runs these kinds of targets; None is one of an older program."""
    capabilities = None if kinds is None else Capabilities(dict.fromkeys(kinds)).to_text()
    register(client, name, capabilities=capabilities, **fields)


def pid_of_ended_process() -> int:
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child
