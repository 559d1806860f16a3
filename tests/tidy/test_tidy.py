"""The style that a machine can see."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterjack.cli import COMMANDS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "quarterjack"
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))

CLOCKS = re.compile(
    r"^\s*(?:import time\b|from time import)"
    r"|(?<!clock)(?<!store)(?<!world)(?<!self)\.now\(|\.utcnow\(|\.today\(|\bloop\.time\("
    r"|(?<!clock)\.monotonic\(|perf_counter"
    r"|CURRENT_TIMESTAMP|clock_timestamp|strftime\('%s', *'now'",
    re.MULTILINE,
)
CHANCE = re.compile(r"^\s*(?:import|from) (?:random|secrets|uuid)\b", re.MULTILINE)
SQL = re.compile(r"\s*(?:select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from|create\s)",
                 re.IGNORECASE | re.DOTALL)  # fmt: skip
PUBLIC_MODULES = {"quarterjack", "quarterjack.app"}
"""Those that the console script and users import."""
OF_THIS_MACHINE = re.compile(r"/root/|/work/|/home/\w|pypi\.org/simple|files\.pythonhosted\.org")


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def only_here(pattern: re.Pattern[str], *homes: str) -> list[str]:
    return [
        f"{name_of(file)}: {found[0].strip()}"
        for file in FILES
        if file.relative_to(SOURCE).parts[0] not in homes
        for found in pattern.finditer(file.read_text())
    ]


def test_only_the_clock_reads_a_clock():
    assert only_here(CLOCKS, "clock.py") == []


def test_chance_and_ids_come_through_seams():
    assert only_here(CHANCE, "sim") == []


def strings(file: Path) -> Iterator[str]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_sql_stands_only_in_the_store():
    elsewhere = [file for file in FILES if file.relative_to(SOURCE).parts[0] != "store"]

    assert [name_of(file) for file in elsewhere for text in strings(file) if SQL.match(text)] == []


def module_of(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by(file: Path) -> Iterator[str]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_module_is_there_that_nobody_imports():
    imported = {name for file in FILES for name in imported_by(file) if name != module_of(file)}
    imported |= {name.rpartition(".")[0] for name in imported}
    imported |= {f"quarterjack.cli.{place.partition(':')[0]}" for place in COMMANDS.values()}

    assert {module_of(file) for file in FILES} - imported - PUBLIC_MODULES == set()


def test_files_and_functions_can_be_held_in_the_head():
    long_files = [name_of(file) for file in FILES if len(file.read_text().splitlines()) > 350]
    long_functions = [
        f"{name_of(file)}: {node.name}"
        for file in FILES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 60
    ]

    assert (long_files, long_functions) == ([], [])


def test_every_module_says_what_it_is():
    assert [name_of(file) for file in FILES if not ast.get_docstring(parsed(file))] == []


def test_every_test_asserts_something():
    idle = [
        f"{name_of(file)}: {node.name}"
        for file in TESTS
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and "assert" not in ast.unparse(node)
        and "raises" not in ast.unparse(node)
    ]

    assert idle == []


def test_nothing_of_the_machine_it_was_written_on_is_kept():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    texts = {name: (ROOT / name) for name in tracked if not name.startswith("tests/tidy/")}

    assert [
        f"{name}: {found[0]}"
        for name, file in texts.items()
        if file.is_file()
        for found in OF_THIS_MACHINE.finditer(file.read_text(errors="replace"))
    ] == []


@pytest.mark.parametrize(
    ("pattern", "guilty"),
    [
        (CLOCKS, "started = datetime.now(UTC)"),
        (CLOCKS, "return cls.now()"),
        (CLOCKS, "deadline = loop.time() + 5"),
        (CLOCKS, "import time\n"),
        (CHANCE, "from uuid import uuid4"),
        (SQL, "SELECT id FROM runs"),
        (SQL, "update runs set state = 1"),
        (OF_THIS_MACHINE, "cd /root/project"),
    ],
)
def test_the_patterns_find_what_they_forbid(pattern: re.Pattern[str], guilty: str):
    assert pattern.search(guilty)
