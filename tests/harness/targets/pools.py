"""Pools of real task processes, and what can be seen of their processes from outside."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from harness.crash.kills import is_alive
from harness.targets.calls import new_call
from quarterjack.targets.call import Answer
from quarterjack.targets.processes.importing import Program, program_of
from quarterjack.targets.processes.pool import ProcessPool
from quarterjack.targets.processes.supervised import Supervisors
from quarterjack.targets.registrations import Registry

T = TypeVar("T")
NewPool: TypeAlias = "Callable[..., RealPool]"
SECONDS = 60
"""A test fails when one step takes longer."""
TICK = 0.01


def children(pid: int) -> list[int]:
    """Those that have not ended."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    found = {int(child) for each in lists for child in each.read_text().split()}
    return sorted(each for each in found if is_alive(each))


class RealPool:
    """A pool on an event loop of its own, which runs only while a test waits for something."""

    def __init__(self, program: Registry | Program, size: int = 1) -> None:
        self.loop = asyncio.new_event_loop()
        self.supervisors = Supervisors()
        self.program = program_of(program) if isinstance(program, Registry) else program
        self.pool = ProcessPool(self.supervisors, self.program, size)

    def wait(self, work: Awaitable[T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(work, SECONDS))

    def wait_until(self, condition: Callable[[], Any], seconds: float = 20) -> Any:
        """Its first true value."""

        async def poll() -> Any:
            while not (found := condition()):
                await asyncio.sleep(TICK)
            return found

        return self.loop.run_until_complete(asyncio.wait_for(poll(), seconds))

    def start(self, task: str, *args: Any, **changes: Any) -> asyncio.Task[Answer]:
        """A call that is waited for later; `changes` are those of the `Call`."""
        call = new_call(task=task)._replace(**changes)
        return self.loop.create_task(self.pool.call(("task", task), call, args))

    def call(self, task: str, *args: Any, **changes: Any) -> Answer:
        return self.wait(self.start(task, *args, **changes))

    def output_of(self, task: str, *args: Any) -> list[tuple[str, int]]:
        """Of a call that succeeds; what has the same level is joined."""
        out: list[tuple[str, int]] = []

        def write(data: bytes, level: int = 0) -> None:
            text = data.decode(errors="replace")
            if out and not level and not out[-1][1]:
                text = out.pop()[0] + text
            out.append((text, level))

        answer = self.call(task, *args, write=write)
        assert answer.error is None, answer.error
        return out

    def processes(self) -> list[int]:
        """The task processes that there are."""
        first = self.supervisors._process
        supervisors = children(first.pid) if first is not None else []
        return [pid for each in supervisors for pid in children(each)]

    def close(self) -> None:
        if self.loop.is_closed():
            return
        self.wait(self.pool.close())
        self.wait(self.supervisors.close())
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()


PROGRAM = """
import os, time
from quarterjack.targets.registrations import Registry
registry = Registry(__name__)
def work(begun="", gate=""):
    if begun:
        open(begun, "w").close()
    while gate and not os.path.exists(gate): time.sleep(0.01)
    return [os.getpid(), __name__]
registry.tasks["work"] = work
if os.getpid() != {parent}:
    {inside}
"""


class NewProgram:
    """Writes a module `shop` with one task, `work`, which does something else where a task process
    imports it, and imports it here."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "shop.py"

    def __call__(self, inside: str = "", more: str = "") -> Program:
        text = PROGRAM.lstrip().format(parent=os.getpid(), inside=inside or "pass") + more
        self.file.write_text(text)
        sys.path.insert(0, str(self.file.parent))
        return program_of(importlib.import_module("shop").registry)

    def remove(self) -> None:
        sys.modules.pop("shop", None)
        if str(self.file.parent) in sys.path:
            sys.path.remove(str(self.file.parent))
