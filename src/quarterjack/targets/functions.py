"""Calls registered functions: async ones on an event loop, sync ones in task processes, both with
what they ask for beside their arguments, the context of the run and their dependencies."""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import copy_context
from copy import deepcopy
from functools import lru_cache, partial
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import uncalled_for

from quarterjack.loops import run_on
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.context import Context, current_context
from quarterjack.targets.processes.pool import ProcessPool
from quarterjack.targets.results import answer_of

Function = Callable[..., Any]


class Functions:
    """Those of one program."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None, pool: ProcessPool | None) -> None:
        """Async functions run on `loop`; None is the loop of the worker. Without sync functions
        there is no pool."""
        self._loop = loop
        self._pool = pool

    async def call(
        self,
        function: Function,
        name: tuple[str, str],
        call: Call,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] = {},
    ) -> Answer:
        """`name` is the kind and the name that it is registered with."""
        if not injection_of(function).is_async:
            assert self._pool is not None, "there is one if a sync function is registered"
            return await self._pool.call(name, call, args, kwargs)
        # The specification that they belong to is kept for later runs, and a task may change them.
        args, kwargs = deepcopy(args) if args else args, deepcopy(kwargs) if kwargs else kwargs
        work = _call_async(function, call, args, kwargs)
        return await (work if self._loop is None else run_on(self._loop, work))

    def warm_up(self) -> None:
        if self._pool is not None:
            self._pool.warm_up()

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()


async def _call_async(
    function: Function, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Answer:
    context = Context(call)
    token = current_context.set(context)
    try:
        if not injection_of(function).parameters:
            result = await function(*args, **kwargs)
        else:
            result = await _call_injected(function, context, args, kwargs)
    finally:
        current_context.reset(token)
    return answer_of(result, function)


async def _call_injected(
    function: Function, context: Context, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    raised: BaseException | None = None
    async with _injected(function, context, args, kwargs) as bound:
        try:
            return await function(*bound.args, **bound.kwargs)
        except BaseException as error:
            raised = error
            raise
    # A dependency suppressed the error, but the task did not succeed.
    assert raised is not None
    raise raised


def call_sync(
    function: Function, context: Context, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """In the main thread of a task process."""
    injection = injection_of(function)
    if not injection.parameters:
        return function(*args, **kwargs)
    if not injection.dependencies:
        bound = injection.bind(context, args, kwargs)
        return function(*bound.args, **bound.kwargs)
    with asyncio.Runner() as loop:
        run = partial(loop.run, context=copy_context())
        opened = _injected(function, context, args, kwargs)
        bound = run(opened.__aenter__())
        try:
            result = function(*bound.args, **bound.kwargs)
        except BaseException as error:
            run(opened.__aexit__(type(error), error, error.__traceback__))
            raise
        run(opened.__aexit__(None, None, None))
        return result


class Injection(NamedTuple):
    """What a function is given beside its arguments."""

    is_async: bool
    signature: inspect.Signature
    contexts: tuple[str, ...]
    """The parameters that are annotated `Context`."""
    dependencies: tuple[str, ...]

    @property
    def parameters(self) -> frozenset[str]:
        return frozenset(self.contexts) | frozenset(self.dependencies)

    def bind(
        self, context: Context, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> inspect.BoundArguments:
        """Arguments of a call, which fill the parameters that are not injected."""
        injected = self.parameters
        rest = [each for each in self.signature.parameters.values() if each.name not in injected]
        bound = self.signature.replace(parameters=rest).bind(*args, **kwargs)
        given = OrderedDict(bound.arguments) | dict.fromkeys(self.contexts, context)
        return inspect.BoundArguments(self.signature, OrderedDict(given))


@lru_cache(maxsize=10_000)
def injection_of(function: Function) -> Injection:
    signature = inspect.signature(function)
    parameters = signature.parameters
    contexts = tuple(name for name in parameters if _is_context(function, parameters[name]))
    dependencies = tuple(uncalled_for.get_dependency_parameters(function))
    return Injection(inspect.iscoroutinefunction(function), signature, contexts, dependencies)


def _is_context(function: Function, parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    if isinstance(annotation, str):  # of a module with `from __future__ import annotations`
        return any(_names_context(function, each.strip()) for each in annotation.split("|"))
    if get_origin(annotation) in (Union, UnionType):  # Context | None
        return Context in get_args(annotation)
    return annotation is Context


def _names_context(function: Function, text: str) -> bool:
    """Whether a name in the module of a function is that of the class; a name that was imported for
    type checkers only is taken at its word."""
    first, *rest = text.strip("'\"").split(".")
    module = getattr(inspect.unwrap(function), "__globals__", {})
    if first not in module:
        return text in ("Context", "quarterjack.Context")
    found: Any = module[first]
    for name in rest:
        found = getattr(found, name, None)
    return found is Context


@asynccontextmanager
async def _injected(
    function: Function, context: Context, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> AsyncIterator[inspect.BoundArguments]:
    """The arguments of a call, with the context and the dependencies. These are closed at the end,
    and an error of one is an error of the task."""
    bound = injection_of(function).bind(context, args, kwargs)
    async with uncalled_for.resolved_dependencies(function, dict(bound.arguments)) as found:
        for value in found.values():
            if isinstance(value, uncalled_for.FailedDependency):
                raise value.error
        bound.arguments.update(found)
        yield bound
