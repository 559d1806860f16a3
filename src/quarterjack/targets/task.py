"""`task`: a registered Python function. Async ones run on the event loop, sync ones in threads."""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import Context as ContextVariables
from contextvars import copy_context
from copy import deepcopy
from datetime import timedelta
from functools import lru_cache, partial
from types import UnionType
from typing import Any, NamedTuple, TypeAlias, Union, get_args, get_origin

import uncalled_for

from quarterjack.errors import Invalid
from quarterjack.loops import run_on
from quarterjack.rules.definition.input_checks import check_json, check_label, check_text, invalid
from quarterjack.rules.definition.target import LABEL, LIST, MAPPING, TargetKind
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.context import Context, current_context
from quarterjack.targets.results import Err, Ok, Skip
from quarterjack.times.durations import DURATION_MAX
from quarterjack.times.instants import SECOND

Function: TypeAlias = Callable[..., Any]
KIND = TargetKind(
    "task",
    "task: cleanup",
    {"task": LABEL, "args": LIST, "kwargs": MAPPING},
    name=lambda fields: str(fields["task"]),
)
THREAD_NAME = "quarterjack-task"
"""What the names of the threads of sync functions begin with."""
THREADS_MAX = 1000
"""Started on demand; the concurrency of the worker is what limits them."""

_SUCCEEDED = Answer()


class TaskTarget:
    """Calls functions by their registered names."""

    def __init__(
        self, functions: Mapping[str, Function], loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._functions = functions
        self._loop = loop
        self._threads = ThreadPoolExecutor(THREADS_MAX, THREAD_NAME)

    async def act(self, call: Call) -> Answer:
        name = call.fields["task"]
        function = self._functions.get(name)
        if function is None:
            remedy = (
                f'if its function was renamed, keep the old name with @app.task("{name}"); '
                "if another program has it, give its schedules another queue"
            )
            return Answer(f'task "{name}" is not registered in this worker; {remedy}')
        args, kwargs = call.fields["args"], call.fields["kwargs"]
        return await call_function(function, call, self._threads, args, kwargs, self._loop)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


async def call_function(
    function: Function,
    call: Call,
    threads: ThreadPoolExecutor,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] = {},
    loop: asyncio.AbstractEventLoop | None = None,
) -> Answer:
    """Call a function with its context and dependencies. An async one runs on `loop`. A sync one
    runs in a thread, which goes on when the attempt is cancelled: only processes can be killed."""
    if loop is not None and injection_of(function).is_async:
        return await run_on(loop, call_function(function, call, threads, args, kwargs))
    # The specification that they belong to is kept for later runs, and a task may change them.
    args, kwargs = deepcopy(args) if args else args, deepcopy(kwargs) if kwargs else kwargs
    context = Context(call)
    token = current_context.set(context)
    try:
        injection = injection_of(function)
        if not injection.is_async:
            work = partial(_call_in_thread, copy_context(), function, context, args, kwargs)
            result = await asyncio.get_running_loop().run_in_executor(threads, work)
        elif not injection.parameters:
            result = await function(*args, **kwargs)
        else:
            result = await _call_injected(function, context, args, kwargs)
    finally:
        current_context.reset(token)
    return _SUCCEEDED if result is None else answer_of(result, function)


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


def _call_in_thread(
    variables: ContextVariables,
    function: Function,
    context: Context,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Any:
    """Dependencies are opened and closed in the thread, too: what they hold may belong to it, and
    the attempt may be cancelled while the function still uses them."""
    try:
        injection = injection_of(function)
        if not injection.dependencies:
            bound = injection.bind(context, args, kwargs)
            return variables.run(function, *bound.args, **bound.kwargs)
        with asyncio.Runner() as loop:
            run = partial(loop.run, context=variables)
            opened = _injected(function, context, args, kwargs)
            bound = run(opened.__aenter__())
            try:
                result = variables.run(function, *bound.args, **bound.kwargs)
            except BaseException as error:
                run(opened.__aexit__(type(error), error, error.__traceback__))
                raise
            run(opened.__aexit__(None, None, None))
            return result
    except StopIteration as error:  # a future would never end with it
        raise RuntimeError("the task raised StopIteration") from error


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


def answer_of(result: Any, function: Function) -> Answer:
    """The answer that a value means which this function has returned."""
    try:
        if isinstance(result, Err):
            return _failure(result)
        if isinstance(result, Skip):
            return Answer(skipped=check_text(result.reason, "Skip.reason"))
        return Answer(result=_result(result.value if isinstance(result, Ok) else result))
    except Invalid as error:
        problem = f"{_shown(function)} ended, but its result cannot be stored: {error}"
        return Answer(problem, retryable=False)


def _shown(function: Function) -> str:
    """With file and line."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code is not None else name


def _result(value: Any) -> Any:
    if inspect.iscoroutine(value):
        value.close()  # else Python warns of it later, somewhere else
        remedy = "await it, in a task that is defined with async def"
        raise invalid("result", value, "is a coroutine that was not awaited", remedy)
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        raise invalid("result", value, "is a generator", "return a list of what it yields")
    return check_json(value, "result")


def _failure(error: Err) -> Answer:
    code = check_label(error.code, "Err.code")
    if not isinstance(error.message, str):
        raise invalid("Err.message", error.message, "is not text", "give text, or leave it out")
    after = _retry_after(error.retry_after)
    return Answer(error.message or code, retryable=error.retry, code=code, retry_after=after)


def _retry_after(delay: Any) -> int | None:
    if delay is None:
        return None
    seconds = delay.total_seconds() if isinstance(delay, timedelta) else delay
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds <= DURATION_MAX / SECOND:  # refuses NaN as well
        reason, remedy = "is no delay", "use seconds from 0 to 100 years, or a timedelta"
        raise invalid("Err.retry_after", delay, reason, remedy)
    return int(seconds * SECOND)
