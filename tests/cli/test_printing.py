"""Output of the commands on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from quarterjack.cli.printing import print_table


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_used_on_a_terminal_unless_no_color_is_set(
    environment: dict[str, str], coloured: bool
):
    """Runs on a pseudo-terminal."""
    script = Path(sys.executable).with_name("quarterjack")
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    process = subprocess.Popen([script, "next", "bad"], stdout=theirs, stderr=theirs,
                               env={**inherited, "TERM": "xterm", **environment})  # fmt: skip
    process.wait(timeout=30)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)

    assert 'error: schedule "bad" is not understood' in shown
    assert ("\x1b[31m" in shown) is coloured


def test_control_characters_in_a_table_are_escaped(capsys: pytest.CaptureFixture[str]):
    print_table([["a\x1b[31m", "b"]])

    assert capsys.readouterr().out == "  a\\x1b[31m   b\n"
