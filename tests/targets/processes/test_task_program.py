"""The program that a task process starts with."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

from quarterjack.targets.processes import task_program
from quarterjack.targets.processes.importing import program_of
from quarterjack.targets.processes.shared_state import SharedState
from quarterjack.targets.registrations import Registry

SECONDS = 30


def test_it_has_nothing_of_the_program_before_it_was_given_the_search_path(tmp_path: Path):
    """Not even what lies in the folder that it is started in, or beside its own file."""
    for name in ("json", "socket", "quarterjack"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('imported')")
    (tmp_path / "shop.py").write_text("import quarterjack")
    state, state_path = SharedState.create()
    ours, theirs = socket.socketpair()
    with theirs:
        argv = [sys.executable, "-P", task_program.__file__]
        process = subprocess.Popen(argv, stdin=theirs.fileno(), cwd=tmp_path)
    path = [each for each in sys.path if each] + [str(tmp_path)]
    program = program_of(Registry("shop"))._replace(path=path, versions={})._asdict()
    start = {"program": program, "state": str(state_path)}
    with ours, ours.makefile("rwb") as file:
        file.write(json.dumps(start).encode() + b"\n")
        file.flush()
        answer = json.loads(file.readline())
    code = process.wait(SECONDS)
    state.close()
    state_path.unlink()

    assert answer == {"ready": process.pid}
    assert code == 0, "it ends when its worker is gone"
