"""`prompt`: text for a language model, given to the handler that a program registers."""

from __future__ import annotations

from quarterjack.rules.definition.target import LABEL, MAPPING, TEXT, TargetKind
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.functions import Function, Functions

KIND = TargetKind(
    "prompt",
    "prompt: Check the queue",
    {"prompt": TEXT, "model": LABEL, "opts": MAPPING},
    preset="agent",
)


class PromptTarget:
    """Calls `handler(prompt, model=..., opts=..., user=...)`; what it returns is the result."""

    def __init__(self, handler: Function, functions: Functions) -> None:
        self._handler = handler
        self._functions = functions

    async def act(self, call: Call) -> Answer:
        options = {name: call.fields[name] for name in ("model", "opts")} | {"user": call.owner}
        args = [call.fields["prompt"]]
        return await self._functions.call(self._handler, ("prompt", ""), call, args, options)

    async def close(self) -> None:
        await self._functions.close()
