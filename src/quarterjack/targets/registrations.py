"""What a program registers for its workers: tasks, workflows, a prompt handler and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from weakref import WeakSet

from quarterjack.rules.definition.capabilities import Capabilities

Function = Callable[..., Any]


class Workflow(NamedTuple):
    function: Function
    nodes: frozenset[str]
    """The trigger nodes that it knows; empty is any."""


is_task_process = False
"""Here functions are called for a worker, which is another process; nothing else is run."""


class Registry:
    """Filled while a program is imported, and read by its workers."""

    def __init__(self, module: str = "__main__") -> None:
        self.module = module
        """Imports it; that of the app."""
        self.tasks: dict[str, Function] = {}
        self.workflows: dict[int, Workflow] = {}
        self.prompt_handler: Function | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        """Where async functions run; None is the loop of the worker."""
        self.on_start: list[Function] = []
        self.on_stop: list[Function] = []
        self.is_in_use = False
        """A service runs with it; what is registered now would be ignored."""

        _registries.add(self)

    def functions(self) -> Iterator[tuple[str, str, Function]]:
        """Everything that runs can call: its kind of target, its name, and the function."""
        for task, function in self.tasks.items():
            yield "task", task, function
        for number, workflow in self.workflows.items():
            yield "workflow", str(number), workflow.function
        if self.prompt_handler is not None:
            yield "prompt", "", self.prompt_handler

    def function(self, kind: str, name: str) -> Function | None:
        found = (each for own, its, each in self.functions() if (own, its) == (kind, name))
        return next(found, None)

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


_registries: WeakSet[Registry] = WeakSet()


def registries() -> list[Registry]:
    """All of this process."""
    return list(_registries)
