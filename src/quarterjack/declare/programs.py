"""Imports a program: `shop.jobs:app`, or a file, `jobs.py:app`."""

from __future__ import annotations

import pkgutil
import sys
import sysconfig
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

from quarterjack.declare.code import CodeSource, is_import_only
from quarterjack.errors import InvalidSpecification

_SYNTAX = "give a module and the name of the app in it, as in shop.jobs:app or jobs.py:app"


def import_app(text: str) -> Any:
    """The `Quarterjack` that this names. Its class belongs to the users of this package, not to its
    commands."""
    module, _, attribute = text.rpartition(":")
    if not module or not attribute:
        raise _wrong(text, "names no app", _SYNTAX)
    token = is_import_only.set(True)
    try:
        return _attribute(_import(module, text), attribute, text)
    finally:
        is_import_only.reset(token)


def _import(name: str, text: str) -> ModuleType:
    is_file = name.endswith(".py")
    folder = Path(name).absolute().parent if is_file else Path.cwd()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return _import_file(Path(name), text) if is_file else import_module(name)
    except InvalidSpecification as error:
        if error.problems[0].field == "app":
            raise
        raise _failed(error, text, folder) from error
    except ModuleNotFoundError as error:
        if is_file or error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _failed(error, text, folder) from error
        raise _wrong(text, "cannot be found", _near_modules(error.name, folder)) from error
    except (Exception, SystemExit) as error:
        raise _failed(error, text, folder) from error


def _import_file(path: Path, text: str) -> ModuleType:
    if not path.is_file():
        near = _near(path.name, (each.name for each in path.absolute().parent.glob("*.py")))
        raise _wrong(text, "does not exist", near or "give a Python file")
    name = path.stem
    if name in sys.modules:
        remedy = "rename the file"
        raise _wrong(text, f"has the name of a module that is in use, {name}", remedy)
    specification = util.spec_from_file_location(name, path.absolute())
    if specification is None or specification.loader is None:
        raise _wrong(text, "cannot be imported", "give a Python file")
    module = util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _near_modules(missing: str, folder: Path) -> str:
    """A module beside the missing one whose name is similar."""
    package, _, name = missing.rpartition(".")
    paths = getattr(sys.modules.get(package), "__path__", None) if package else [str(folder)]
    start = f"{package}." if package else ""
    beside = pkgutil.iter_modules(paths) if paths else ()
    found = _near(start + name, (start + each.name for each in beside))
    return found or "run this where the module is, or give its file, as in jobs.py:app"


def _near(name: str, known: Iterable[str]) -> str | None:
    near = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {near[0]}?" if near else None


def _failed(error: BaseException, text: str, folder: Path) -> InvalidSpecification:
    remedy = "fix it there"
    if isinstance(error, ImportError) and "relative import" in str(error):
        remedy = "give the module instead of the file, as in package.module:app"
    elif isinstance(error, ModuleNotFoundError):
        remedy = "install that module, or correct its name"
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    where = _where(error, folder)
    return _wrong(text, f"failed to import: {what}{where and f' ({where})'}", remedy)


def _where(error: BaseException, folder: Path) -> str:
    """File and line: of a syntax error, else the last line of the program itself, however deep in
    its libraries the error was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    places, frame = [], error.__traceback__
    while frame is not None:
        places.append((frame.tb_frame.f_code.co_filename, frame.tb_lineno))
        frame = frame.tb_next
    own = [each for each in places if _is_of_program(Path(each[0]), folder)]
    file, line = (own or places or [("", 0)])[-1]
    return f"{file}:{line}"


def _is_of_program(file: Path, folder: Path) -> bool:
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")]
    libraries.append(Path(__file__).parents[1])
    inside = any(file.is_relative_to(each) for each in libraries)
    return not inside and file.is_relative_to(folder)


def _attribute(module: ModuleType, name: str, text: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(getattr(found, "source", None), CodeSource):
        return found
    apps = [
        each
        for each, value in vars(module).items()
        if isinstance(getattr(value, "source", None), CodeSource)
    ]
    remedy = f"did you mean {apps[0]}?" if len(apps) == 1 else f"it has {', '.join(apps)}"
    if not apps:
        remedy = f"create one in {module.__name__}: {name} = Quarterjack()"
    if found is not None:
        raise _wrong(text, f"is of type {type(found).__name__}, not a Quarterjack app", remedy)
    raise _wrong(text, f"does not exist: {module.__name__} has no {name}", remedy)


def _wrong(text: str, reason: str, remedy: str) -> InvalidSpecification:
    return InvalidSpecification.because("app", text, reason, remedy)
