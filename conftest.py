"""What all tests share: generated examples are repeatable, and the examples in the documents are
tests too: Python blocks, commands with what they print, and timelines of what is decided."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from click.testing import CliRunner
from hypothesis import settings
from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime

# The same examples each time, and no deadline: a slow machine is not a fault of the code.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


folder = TemporaryDirectory(prefix="quarterjack-docs-")
sys.path.append(folder.name)
execute = PythonEvaluator()


def run_python(example: Example) -> None:
    """As part of a module, one for each document. What it has above its first `start()` is also in
    a file, which task processes import."""
    name = f"{Path(example.path).stem.lower()}_document"
    file = Path(folder.name, f"{name}.py")
    module = sys.modules.setdefault(name, ModuleType(name))
    module.__file__ = str(file)
    example.namespace["__name__"] = name
    module.has_started = getattr(module, "has_started", False) or ".start()" in example.parsed
    if not module.has_started:
        before = file.read_text() if file.exists() else ""
        line = example.line + example.parsed.line_offset
        file.write_text(f"{before}{chr(10) * (line - before.count(chr(10)))}{example.parsed}")
    execute(example)
    vars(module).update(example.namespace)


def run_console(example: Example) -> None:
    """`$ quarterjack ...` must print exactly the lines below it."""
    for block in str(example.parsed).split("$ ")[1:]:
        command, _, expected = block.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "quarterjack", f"only our own commands are shown: {command}"
        result = CliRunner().invoke(commands, arguments, obj=Runtime())
        assert result.output.rstrip() == expected.rstrip(), f"{command} prints:\n{result.output}"


def draw_timeline(example: Example) -> None:
    """A timeline must be what the rules decide today."""
    from harness.rules.timeline import drawn

    shown = str(example.parsed).rstrip()
    now = drawn(shown)
    assert now == shown, f"the rules draw it so:\n{now}"


python = PythonCodeBlockParser()  # >>> is a doctest
python.codeblock_parser = CodeBlockParser(language="python", evaluator=run_python)
pytest_collect_file = Sybil(
    parsers=[
        python,
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="timeline", evaluator=draw_timeline),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md"],
).pytest()
