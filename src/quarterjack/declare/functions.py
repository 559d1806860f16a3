"""Checks of the functions that a program registers, and the places where that happened."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from quarterjack.rules.definition.input_checks import invalid
from quarterjack.targets.functions import injection_of

Function = Callable[..., Any]
_TOP = "the top of a module"


def name_of(function: object) -> str:
    """As errors name it; a partial and an object have no name of their own."""
    return str(getattr(function, "__name__", None) or type(function).__name__)


def check_function(what: str, name: object, function: Any) -> None:
    """Functions that workers can call: named, defined with `def`, and not bound to an object."""
    _check_kind(what, name, function)
    parameters = inspect.signature(function).parameters
    for parameter in injection_of(function).parameters:
        if parameters[parameter].kind is inspect.Parameter.POSITIONAL_ONLY:
            remedy = "remove the / behind it"
            raise invalid(f"{what} {name}", parameter, "is positional-only", remedy)


def _check_kind(what: str, name: object, function: Any) -> None:
    if inspect.isclass(function):
        raise invalid(what, name, "is a class", "use a function that creates the object")
    if isinstance(function, functools.partial):
        remedy = "use a function, and give the arguments to the schedule, as args= and kwargs="
        raise invalid(what, name, "is a partial", remedy)
    if inspect.ismethod(function):
        remedy = "use a function at the top of a module; it can take the object as a dependency"
        raise invalid(what, name, "is a bound method", remedy)
    if not inspect.isfunction(inspect.unwrap(function)):
        reason = "is an object, not a function" if callable(function) else "is not a function"
        raise invalid(what, name, reason, "define a function with def, at the top of a module")
    if name_of(function) == "<lambda>":
        raise invalid(what, name, "is a lambda", "define it with def, at the top of a module")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise invalid(what, name, "is a generator", "return the result instead of yielding it")
    if not inspect.iscoroutinefunction(function):
        _check_can_be_found(what, name, function)


def _check_can_be_found(what: str, name: object, function: Any) -> None:
    """Sync functions are called in other processes, which import the program again."""
    if "<locals>" in function.__qualname__:
        reason = "is defined inside another function, where no task process can find it"
        raise invalid(what, name, reason, f"move it to {_TOP}, or write it as async def")
    file = getattr(sys.modules.get(function.__module__), "__file__", None)
    if file is None or file.startswith("<"):
        reason = "is defined in a notebook or a shell, where no task process can find it"
        raise invalid(what, name, reason, f"move it to {_TOP} in a file, or write it as async def")


def check_arguments(
    name: str, function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """The arguments of a schedule fit the signature of its task."""
    injected = injection_of(function).parameters
    given = sorted(injected & kwargs.keys())
    if given:
        raise invalid("kwargs", given[0], "is filled in by Quarterjack", "leave it out")
    rest = own_parameters(function)
    try:
        inspect.Signature(rest).bind(*args, **kwargs)
    except TypeError as error:
        shown = _shown(function, rest)
        reason = f"cannot be called so: {error}"
        remedy = f"it takes {shown}, at {place_of(function)}; give args= or kwargs="
        if any(each.name in ("context", "ctx") for each in rest):
            remedy += "; the context of the run is given to a parameter annotated `: Context`"
        raise invalid("task", name, reason, remedy) from None


def _shown(function: Function, parameters: Sequence[inspect.Parameter]) -> str:
    """As they are written, whether or not annotations are evaluated."""
    module = function.__module__
    written = [
        each
        if each.annotation is each.empty
        else each.replace(annotation=_Written(_annotation(each.annotation, module)))
        for each in parameters
    ]
    return str(inspect.Signature(written))


def _annotation(annotation: Any, module: str) -> str:
    return (
        annotation if isinstance(annotation, str) else inspect.formatannotation(annotation, module)
    )


class _Written(str):
    """Text that is its own `repr`."""

    __slots__ = ()
    __repr__ = str.__str__


def own_parameters(function: Function) -> list[inspect.Parameter]:
    """Without the context and the dependencies, which nobody has to give."""
    injected = injection_of(function).parameters
    every = inspect.signature(function).parameters.values()
    return [each for each in every if each.name not in injected]


def check_call(
    what: str, function: Function, positional: Sequence[str], keywords: Sequence[str]
) -> None:
    """A handler takes what it will be called with."""
    own = own_parameters(function)
    try:
        inspect.Signature(own).bind(*positional, **dict.fromkeys(keywords))
    except TypeError as error:
        wanted = ", ".join([*positional, *keywords])
        reason = f"cannot be called with ({wanted}): {error}"
        raise invalid(what, name_of(function), reason, "give it these parameters") from None


def check_hook(what: str, function: Any) -> None:
    """Called without arguments."""
    if not callable(function):
        raise invalid(what, function, "is not a function", "give a function without parameters")
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        remedy = "it is called without arguments"
        raise invalid(what, name_of(function), f"cannot be called: {error}", remedy) from None
    except ValueError:  # a builtin without a signature
        return


def place_of(function: Any) -> str | None:
    """File and line of a function."""
    try:
        code = getattr(inspect.unwrap(function), "__code__", None)
    except ValueError:
        return None
    return f"{short(code.co_filename)}:{code.co_firstlineno}" if code is not None else None


def calling_place(depth: int) -> str:
    """File and line of the caller's caller, so many frames up."""
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = frame.f_back if frame is not None else None
    return "?" if frame is None else f"{short(frame.f_code.co_filename)}:{frame.f_lineno}"


def calling_module() -> tuple[str, str]:
    """Name and file of the module of the caller's caller."""
    frame = inspect.currentframe()
    for _ in range(2):
        frame = frame.f_back if frame is not None else None
    if frame is None:
        return "__main__", "program"
    return str(frame.f_globals.get("__name__", "__main__")), frame.f_code.co_filename


def short(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file
