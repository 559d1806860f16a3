"""`prompt`: text for a language model, given to the handler that a program registers."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from quarterjack.rules.definition.target import LABEL, MAPPING, TEXT, TargetKind
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.registrations import Function
from quarterjack.targets.task import THREAD_NAME, THREADS_MAX, call_function

KIND = TargetKind(
    "prompt",
    "prompt: Check the queue",
    {"prompt": TEXT, "model": LABEL, "opts": MAPPING},
    preset="agent",
)


class PromptTarget:
    """Calls `handler(prompt, model=..., opts=..., user=...)`; what it returns is the result."""

    def __init__(self, handler: Function, loop: asyncio.AbstractEventLoop | None = None) -> None:
        self._handler = handler
        self._loop = loop
        self._threads = ThreadPoolExecutor(THREADS_MAX, THREAD_NAME)

    async def act(self, call: Call) -> Answer:
        options = {name: call.fields[name] for name in ("model", "opts")} | {"user": call.owner}
        args = [call.fields["prompt"]]
        return await call_function(self._handler, call, self._threads, args, options, self._loop)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
