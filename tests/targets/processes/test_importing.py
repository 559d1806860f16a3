"""How a task process finds the functions of the program again."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness.targets.pools import NewPool, NewProgram
from quarterjack.targets.processes import importing
from quarterjack.targets.processes.importing import ImportFailed, program_of, reference_to
from quarterjack.targets.registrations import Registry

APP = """
from quarterjack.targets.registrations import Registry
registry = Registry(__name__)
def start(): ...
registry.on_start.append(start)
def work(): return __name__
registry.tasks["work"] = work
async def later(): ...
registry.tasks["later"] = later
"""
FACTORY = """
from quarterjack.targets.registrations import Registry
def work(): ...
def create():
    registry = Registry(__name__)
    registry.tasks["work"] = work
    registry.tasks["inner"] = lambda: None
    return registry
"""


def module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    made = importlib.import_module(name)
    monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, name, made)
    return made


def imported(**changes: object) -> None:
    importing.import_program(program_of(Registry("os"))._replace(**changes))


def test_a_program_is_its_modules_and_its_sync_functions(new_program: NewProgram):
    program = new_program()

    assert (program.modules, program.script) == (["shop"], None)
    assert [(each.name, each.module, each.line) for each in program.references] == [
        ("work", "shop", 4)
    ]
    assert str(new_program.file.parent) in program.path
    status = new_program.file.stat()
    assert program.versions[str(new_program.file)] == (status.st_mtime_ns, status.st_size)


def test_async_functions_are_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shop = module(tmp_path, "shop_async", APP, monkeypatch)

    assert [each.name for each in program_of(shop.registry).references] == ["work"]


def test_of_two_apps_with_a_task_of_the_same_name_the_one_that_was_registered_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    shops = [module(tmp_path, f"shop_{number}", APP, monkeypatch) for number in range(5)]

    for shop in shops:
        references = program_of(shop.registry).references
        assert importing.find(references[0]) is shop.work
        assert importing.hooks(references, "on_start") == [shop.start]


def test_a_function_that_the_import_does_not_register_is_found_in_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    factory = module(tmp_path, "shop_factory", FACTORY, monkeypatch)
    work, inner = program_of(factory.create()).references

    assert importing.find(work) is factory.work
    assert importing.find(inner) is None, "it exists only while create() runs"
    assert importing.find(work._replace(line=99)) is None, "another version of it"


def test_a_script_is_imported_under_its_own_name_or_another_if_that_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for file, expected in {"till.py": "till", "json.py": "__quarterjack_main__"}.items():
        (tmp_path / file).write_text("name = __name__")
        imported(modules=["__main__"], script=str(tmp_path / file))
        assert sys.modules["__quarterjack_main__"].name == expected


def test_a_program_that_was_typed_in_has_nothing_to_import(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))

    assert program_of(Registry("__main__"))[1:3] == ([], None)


FAILURES = {
    "raise ValueError('no')": "ValueError: no ({file}:1); fix it there, and restart",
    "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module' ({file}:1)",
    "x = (": "SyntaxError: '(' was never closed (till.py, line 1) ({file}:1)",
    "import sys\n\nsys.exit(3)": "SystemExit: 3 ({file}:3)",
    "import quarterjack\nquarterjack.Cron('x')": "({file}:2); fix it there, and restart",
}


@pytest.mark.parametrize("text", FAILURES)
def test_an_import_that_fails_says_why_and_where_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
):
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    file = tmp_path / "till.py"
    file.write_text(text)

    with pytest.raises(ImportFailed) as failed:
        imported(modules=["__main__"], script=str(file))

    assert str(failed.value).startswith(f"{file} cannot be imported in a task process: ")
    assert FAILURES[text].format(file=file) in str(failed.value)


@pytest.mark.fault("F68")
def test_a_file_that_has_changed_since_the_program_started_is_refused(new_program: NewProgram):
    program = new_program()
    importing.import_program(program)
    new_program.file.write_text(new_program.file.read_text() + "# a later version")

    with pytest.raises(ImportFailed, match=r"shop\.py has changed since the program started"):
        importing.import_program(program)


@pytest.mark.fault("F68")
def test_a_file_that_has_changed_and_is_not_imported_in_a_task_process_does_no_harm(
    new_program: NewProgram, new_pool: NewPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    module(tmp_path, "other_shop", "", monkeypatch)
    pool = new_pool(new_program())
    (tmp_path / "other_shop.py").write_text("# a later version")

    assert pool.call("work").error is None


def test_a_reference_names_the_line_of_a_decorated_function():
    reference = reference_to("task", "t", test_a_reference_names_the_line_of_a_decorated_function)

    assert reference.module == __name__
    assert reference.line > 100
