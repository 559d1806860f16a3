"""What a program registers for its workers: tasks, workflows, a prompt handler and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

from quarterjack.rules.definition.capabilities import Capabilities

Function = Callable[..., Any]


class Workflow(NamedTuple):
    function: Function
    nodes: frozenset[str]
    """The trigger nodes that it knows; empty is any."""


class Registry:
    """Filled while a program is imported, and read by its workers."""

    def __init__(self) -> None:
        self.tasks: dict[str, Function] = {}
        self.workflows: dict[int, Workflow] = {}
        self.prompt_handler: Function | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where async functions run; None is the loop of the worker."""
        self.on_start: list[Function] = []
        self.on_stop: list[Function] = []
        self.is_in_use = False
        """A service runs with it; what is registered now would be ignored."""

    @property
    def capabilities(self) -> Capabilities:
        names: dict[str, list[str] | None] = {"task": sorted(self.tasks), "command": None}
        if self.workflows:
            names["workflow"] = sorted(map(str, self.workflows))
        if self.prompt_handler is not None:
            names["prompt"] = None
        workflows = self.workflows.items()
        nodes = {str(number): sorted(each.nodes) for number, each in workflows if each.nodes}
        return Capabilities(names, nodes)
