"""What type checkers see: a decorated function keeps its signature, and wrong use is reported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("program.py")
ROOT = PROGRAM.parents[2]
CACHE = ROOT / ".mypy_cache"
BIN = Path(sys.executable).parent
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PLACES = [ROOT / "examples", ROOT / "examples" / "django_project"]
"""Where the programs run: what their imports are relative to."""
WITHOUT_TYPES_OF_DJANGO = """
[mypy-django.*]
ignore_missing_imports = true
[mypy-shop.*]
disallow_subclassing_any = false
"""
WRONG = {
    number: found[1]
    for number, line in enumerate(PROGRAM.read_text().splitlines(), 1)
    if (found := re.search(r"# type: ignore\[(\S+)\]$", line))
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """With nothing ignored."""
    program = tmp_path / "program.py"
    program.write_text(re.sub(r"  # type: ignore.*", "", PROGRAM.read_text()))
    return program


def run(folder: Path, *command: str) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not result.stderr, result.stderr
    return result.stdout


def test_mypy_reports_wrong_use_and_nothing_else(tmp_path: Path, program: Path) -> None:
    options = ["--strict", "--no-error-summary", "--hide-error-context", "--config-file", ""]
    cache = ["--cache-dir", str(CACHE / "typing")]
    out = run(tmp_path, str(BIN / "mypy"), *options, *cache, str(program))

    found = re.findall(r":(\d+): error: .*\[(\S+)\]$", out, re.MULTILINE)
    assert {int(number): code for number, code in found} == WRONG, out


def test_pyright_reports_wrong_use_and_nothing_else(tmp_path: Path, program: Path) -> None:
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    python = ["--pythonpath", sys.executable, "--outputjson"]
    out = run(tmp_path, str(BIN / "basedpyright"), "-p", str(tmp_path), *python, str(program))

    diagnostics = json.loads(out)["generalDiagnostics"]
    errors = {each["range"]["start"]["line"] + 1 for each in diagnostics}
    assert errors == set(WRONG), out


def test_mypy_accepts_the_examples(tmp_path: Path) -> None:
    """Strictly; Django has no types, so that a subclass of its classes is one of Any."""
    path = ":".join(map(str, PLACES))
    strict = f"[mypy]\nstrict = true\nmypy_path = {path}\n"
    (tmp_path / "mypy.ini").write_text(strict + WITHOUT_TYPES_OF_DJANGO)
    options = ["--config-file", "mypy.ini", "--explicit-package-bases"]
    cache = ["--cache-dir", str(CACHE / "examples")]
    out = run(tmp_path, str(BIN / "mypy"), *options, *cache, *map(str, EXAMPLES))

    assert out == f"Success: no issues found in {len(EXAMPLES)} source files\n"


def test_pyright_accepts_the_examples(tmp_path: Path) -> None:
    """With types of Django that pyright infers from its code."""
    settings = {
        "typeCheckingMode": "standard",
        "include": [str(PLACES[0])],
        "extraPaths": list(map(str, PLACES)),
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    python = ["--pythonpath", sys.executable, "--outputjson"]
    out = json.loads(run(tmp_path, str(BIN / "basedpyright"), "-p", str(tmp_path), *python))

    assert out["generalDiagnostics"] == []
    assert out["summary"]["filesAnalyzed"] == len(EXAMPLES)
