"""`task`: a registered Python function. Async ones run on the event loop, sync ones in task
processes."""

from __future__ import annotations

from collections.abc import Mapping

from quarterjack.rules.definition.target import LABEL, LIST, MAPPING, TargetKind
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.functions import Function, Functions

KIND = TargetKind(
    "task",
    "task: cleanup",
    {"task": LABEL, "args": LIST, "kwargs": MAPPING},
    name=lambda fields: str(fields["task"]),
)


class TaskTarget:
    """Calls functions by their registered names."""

    def __init__(self, tasks: Mapping[str, Function], functions: Functions) -> None:
        self._tasks = tasks
        self.functions = functions

    async def act(self, call: Call) -> Answer:
        name = call.fields["task"]
        function = self._tasks.get(name)
        if function is None:
            remedy = (
                f'if its function was renamed, keep the old name with @app.task("{name}"); '
                "if another program has it, give its schedules another queue"
            )
            return Answer(f'task "{name}" is not registered in this worker; {remedy}')
        args, kwargs = call.fields["args"], call.fields["kwargs"]
        return await self.functions.call(function, ("task", name), call, args, kwargs)

    async def close(self) -> None:
        await self.functions.close()
