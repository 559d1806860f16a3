"""Style rules that can be checked automatically."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
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
    r"|(?<!clock)(?<!store)(?<!world)(?<!runtime)(?<!self)\.now\(|\.utcnow\(|\.today\(|\bloop\.time\("
    r"|(?<!clock)\.monotonic\(|perf_counter"
    r"|CURRENT_TIMESTAMP|clock_timestamp|strftime\('%s', *'now'",
    re.MULTILINE,
)
RANDOMNESS = re.compile(r"^\s*(?:import|from) (?:random|secrets|uuid)\b", re.MULTILINE)
SQL = re.compile(
    r"\s*(?:select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from"
    r"|create\s+(?:unique\s+)?(?:table|index|view|trigger|function|schema|database|role)\s)",
    re.IGNORECASE | re.DOTALL,
)
PUBLIC_MODULES = {"quarterjack", "quarterjack.__main__"}
"""Imported by the console script or by users, not by other modules."""
LOCAL_PATHS = re.compile(r"/root/|/work/|/home/\w|pypi\.org/simple|files\.pythonhosted\.org")

ODD_WORDS = re.compile(
    r"\b(?:amending|anew|astray|caretaker|carrying[ _]out|commons|does not let|forgot(?:ten)?"
    r"|heed(?:s|ed)?|house[ _]?rules|is no (?:cron|duration|list|setting|text)|is said|is told"
    r"|are told|keeper|let us in|looker|mend(?:s|ed)?|nobody plans|passed[ _]?over|put out"
    r"|rolled[ _]up|rolling[ _]up|seats?|stands for them|the house|timekeeper|told to stop"
    r"|without a word|worked off)\b",
    re.IGNORECASE,
)
"""Words that were once used here and that readers from elsewhere do not search for."""


def name_of(file: Path) -> str:
    return str(file.relative_to(ROOT))


def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def matches_outside(pattern: re.Pattern[str], *allowed: str) -> list[str]:
    return [
        f"{name_of(file)}: {found[0].strip()}"
        for file in FILES
        if file.relative_to(SOURCE).parts[0] not in allowed
        for found in pattern.finditer(file.read_text())
    ]


def test_only_the_clock_reads_a_clock():
    assert matches_outside(CLOCKS, "clock.py") == []


def test_only_the_simulation_imports_a_source_of_randomness():
    assert matches_outside(RANDOMNESS, "sim") == []


def strings(file: Path) -> Iterator[str]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_only_the_store_contains_sql():
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


def test_every_module_is_imported():
    imported = {name for file in FILES for name in imported_by(file) if name != module_of(file)}
    imported |= {name.rpartition(".")[0] for name in imported}
    imported |= {f"quarterjack.cli.{target.partition(':')[0]}" for target in COMMANDS.values()}

    assert {module_of(file) for file in FILES} - imported - PUBLIC_MODULES == set()


def test_files_have_at_most_320_lines():
    lengths = {name_of(file): len(file.read_text().splitlines()) for file in FILES}

    assert {name: length for name, length in lengths.items() if length > 320} == {}


def test_functions_have_at_most_40_lines():
    assert [
        f"{name_of(file)}: {node.name}"
        for file in FILES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 40
    ] == []


def test_folders_have_at_most_14_modules_except_times():
    modules = Counter(name_of(file.parent) for file in FILES if file.name != "__init__.py")
    del modules[name_of(SOURCE / "times")]

    assert {folder: count for folder, count in modules.items() if count > 14} == {}


def test_every_module_has_a_docstring():
    assert [name_of(file) for file in FILES if not ast.get_docstring(parsed(file))] == []


def test_every_test_asserts_something():
    without = [
        f"{name_of(file)}: {node.name}"
        for file in TESTS
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and "assert" not in ast.unparse(node)
        and "raises" not in ast.unparse(node)
    ]

    assert without == []


def test_code_and_documents_use_the_words_of_the_field():
    documents = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]

    assert [
        f"{name_of(file)}:{number}: {found[0]}"
        for file in [*FILES, *documents]
        for number, line in enumerate(file.read_text().splitlines(), 1)
        for found in ODD_WORDS.finditer(line)
    ] == []


def rows_of(document: str) -> dict[str, str]:
    """The rows of the tables of a document, by their name."""
    lines = (ROOT / "docs" / document).read_text().splitlines()
    return {row[1]: line for line in lines if (row := re.match(r"\| ([A-Z]\d+) \|", line))}


@pytest.mark.parametrize("mark", ["mission", "fault", "threat"])
def test_marks_name_rows_of_their_document_that_are_built(mark: str):
    rows = rows_of({"mission": "mission.md", "fault": "faults.md", "threat": "threats.md"}[mark])
    named = {
        argument.value
        for file in TESTS
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{mark}"
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }

    assert named - rows.keys() == set()
    assert [row for row in sorted(named) if "| not yet" in rows[row]] == []


def test_no_tracked_file_contains_local_paths():
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    files = {name: ROOT / name for name in tracked if not name.startswith("tests/tidy/")}

    assert [
        f"{name}: {found[0]}"
        for name, file in files.items()
        if file.is_file()
        for found in LOCAL_PATHS.finditer(file.read_text(errors="replace"))
    ] == []


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (CLOCKS, "started = datetime.now(UTC)"),
        (CLOCKS, "return cls.now()"),
        (CLOCKS, "deadline = loop.time() + 5"),
        (CLOCKS, "import time\n"),
        (RANDOMNESS, "from uuid import uuid4"),
        (SQL, "SELECT id FROM runs"),
        (SQL, "update runs set state = 1"),
        (SQL, "create index by_state on runs (state)"),
        (LOCAL_PATHS, "cd /root/project"),
        (ODD_WORDS, "it is made anew"),
        (ODD_WORDS, "class HouseRules:"),
        (ODD_WORDS, "def rolled_up()"),
    ],
)
def test_the_patterns_match(pattern: re.Pattern[str], text: str):
    assert pattern.search(text)
