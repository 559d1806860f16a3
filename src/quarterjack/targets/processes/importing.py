"""How a task process finds the functions of the program again: it imports the same modules, and
looks for the functions that were registered. Nothing is pickled."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from quarterjack.targets.registrations import Registry, registries

Function = Callable[..., Any]
MAIN = "__main__"
_RENAMED_MAIN = "__quarterjack_main__"
"""A script whose own name another module has."""


class Reference(NamedTuple):
    """A registered function: as what, and where it is defined."""

    kind: str
    name: str
    module: str
    qualname: str
    line: int


class Program(NamedTuple):
    """What a task process has to import."""

    path: Sequence[str]
    """`sys.path`."""
    modules: Sequence[str]
    script: str | None
    """The file of the module `__main__`, if that is one of them."""
    references: Sequence[Reference]
    versions: Mapping[str, Sequence[int]]
    """Modification time and size of the files that are imported already: a process that starts
    later must not run newer ones."""
    uses_django: bool
    """Whose models can be imported only after `django.setup()`."""


class ImportFailed(Exception):
    """The program cannot be imported; the text says why, where and what to do."""


def program_of(registry: Registry) -> Program:
    references = [
        reference_to(kind, name, function)
        for kind, name, function in registry.functions()
        if not inspect.iscoroutinefunction(function)
    ]
    modules = dict.fromkeys([registry.module, *(each.module for each in references)])
    script = None
    main = sys.modules.get(MAIN)
    if MAIN in modules and main is not None:
        specification = getattr(main, "__spec__", None)
        if specification is not None:  # python -m
            real = specification.name
            references = [_moved(each, real) for each in references]
            modules = dict.fromkeys(real if each == MAIN else each for each in modules)
        elif file := getattr(main, "__file__", None):
            script = str(Path(file).absolute())
        else:  # typed in, or python -c: there is nothing to import
            del modules[MAIN]
    path = [str(Path(each or ".").absolute()) for each in sys.path]
    return Program(path, list(modules), script, references, _versions(), _uses_django())


def _uses_django() -> bool:
    apps = getattr(sys.modules.get("django.apps"), "apps", None)
    return apps is not None and apps.apps_ready


def reference_to(kind: str, name: str, function: Function) -> Reference:
    code = getattr(inspect.unwrap(function), "__code__", None)
    line = code.co_firstlineno if code is not None else 0
    return Reference(kind, name, function.__module__, function.__qualname__, line)


def _moved(reference: Reference, name: str) -> Reference:
    """From `__main__` to the module that it is."""
    return reference._replace(module=name) if reference.module == MAIN else reference


def _versions() -> dict[str, tuple[int, int]]:
    files = {getattr(each, "__file__", None) for each in list(sys.modules.values())}
    found = {file: _version(file) for file in files if file}
    return {file: version for file, version in found.items() if version is not None}


def _version(file: str) -> tuple[int, int] | None:
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def import_program(program: Program) -> None:
    """Import its modules, as the files were when the program started."""
    for name in program.modules:
        try:
            if program.uses_django:
                import_module("django").setup()
            _import(name, program)
        except BaseException as error:
            traceback.print_exc()
            where = _place_of(error)
            what = f"{type(error).__name__}: {error}".removesuffix(": ")
            reason = f"{program.script or name} cannot be imported in a task process: {what}"
            raise ImportFailed(f"{reason} ({where}); fix it there, and restart") from error
    imported = {getattr(each, "__file__", None) for each in list(sys.modules.values())}
    for file, version in program.versions.items():
        if file in imported and _version(file) != tuple(version):
            remedy = "restart it, so that all of it runs the same version"
            raise ImportFailed(f"{file} has changed since the program started; {remedy}")


def _import(name: str, program: Program) -> ModuleType:
    if name != MAIN:
        return import_module(name)
    script = Path(program.script or "")
    name = script.stem
    if not name.isidentifier() or name in sys.modules or name in sys.stdlib_module_names:
        name = _RENAMED_MAIN
    specification = util.spec_from_file_location(name, script)
    if specification is None or specification.loader is None:
        raise ImportError(f"{script} is not a Python file")
    module = util.module_from_spec(specification)
    sys.modules[name] = sys.modules[_RENAMED_MAIN] = module
    specification.loader.exec_module(module)
    return module


def _place_of(error: BaseException) -> str:
    """File and line, of the program rather than of this package."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    package = str(Path(__file__).parents[2])
    own = [each for each in frames if not each.filename.startswith(("<", package))]
    last = (own or frames)[-1]
    return f"{last.filename}:{last.lineno}"


def find(reference: Reference) -> Function | None:
    """The function, now that the program is imported."""
    for registry in registries():
        if (function := _registered(registry, reference)) is not None:
            return function
    # Not registered by the import, but by a function of the program, such as create_app().
    found: Any = _module_of(reference)
    for part in reference.qualname.split("."):
        found = getattr(found, part, None)
    if not callable(found) or reference_to("", "", found).line != reference.line:
        return None
    return found  # type: ignore[no-any-return]


def _registered(registry: Registry, reference: Reference) -> Function | None:
    """Another app of the program may have a function of the same name."""
    function = registry.function(reference.kind, reference.name)
    module = getattr(_module_of(reference), "__name__", None)
    wanted = module, reference.qualname
    if function is None or (function.__module__, function.__qualname__) != wanted:
        return None
    return function


def _module_of(reference: Reference) -> ModuleType | None:
    name = reference.module
    return sys.modules.get(_RENAMED_MAIN if name == MAIN else name)


def hooks(references: Iterable[Reference], which: str) -> list[Function]:
    """Those of the registries that have one of the functions: `on_start` or `on_stop`."""
    found: list[Function] = []
    for registry in registries():
        if any(_registered(registry, each) is not None for each in references):
            found += getattr(registry, which)
    return found
