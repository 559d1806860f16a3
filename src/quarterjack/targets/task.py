"""`task`: a registered Python function. Asynchronous ones run on the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import Any, TypeAlias

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.input_checks import check_json
from quarterjack.rules.definition.target import LABEL, LIST, MAPPING, TargetKind
from quarterjack.targets.call import Answer, Call

Function: TypeAlias = Callable[..., Awaitable[Any]]
current_call: ContextVar[Call] = ContextVar("current_call")
"""The call of the running task."""
KIND = TargetKind("task", "task: cleanup", {"task": LABEL, "args": LIST, "kwargs": MAPPING})

_SUCCEEDED = Answer()


class TaskTarget:
    """Calls functions by their registered names."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self._functions = functions

    async def act(self, call: Call) -> Answer:
        fields = call.fields
        function = self._functions.get(fields["task"])
        if function is None:
            remedy = "register it in this process, or give its schedules another queue"
            return Answer(f'task "{fields["task"]}" is not registered in this worker; {remedy}')
        current_call.set(call)
        result = await function(*fields["args"], **fields["kwargs"])
        return _SUCCEEDED if result is None else _answer(result)

    async def close(self) -> None:
        """There is nothing to release."""


def _answer(result: Any) -> Answer:
    try:
        return Answer(result=check_json(result, "result"))
    except InvalidSpecification as error:
        problem = f"the task succeeded, but its result cannot be stored: {error}"
        return Answer(problem, retryable=False)
