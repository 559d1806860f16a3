"""What all tests share: generated examples are repeatable, and the examples in the documents are
tests too: Python blocks, commands with what they print, and timelines of what is decided."""

from __future__ import annotations

import shlex

from click.testing import CliRunner
from hypothesis import settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from quarterjack.cli import commands
from quarterjack.cli.runtime import Runtime

# The same examples each time, and no deadline: a slow machine is not a fault of the code.
settings.register_profile("suite", deadline=None, derandomize=True)
settings.load_profile("suite")


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


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        CodeBlockParser(language="console", evaluator=run_console),
        CodeBlockParser(language="timeline", evaluator=draw_timeline),
        SkipParser(),
    ],
    patterns=["README.md", "docs/*.md"],
).pytest()
