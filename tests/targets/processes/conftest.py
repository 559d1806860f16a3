"""Pools of real task processes, shared by the tests of one module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.targets import tasks
from harness.targets.pools import NewPool, NewProgram, RealPool
from quarterjack.targets.processes.importing import Program
from quarterjack.targets.registrations import Registry


@pytest.fixture(scope="module")
def pool() -> Iterator[RealPool]:
    """With one process at a time, so that the next call shows what the last one did to it."""
    made = RealPool(tasks.registry)
    yield made
    made.close()


@pytest.fixture
def new_program(tmp_path: Path) -> Iterator[NewProgram]:
    """Makes a program in a module that was never imported before."""
    made = NewProgram(tmp_path)
    yield made
    made.remove()


@pytest.fixture
def new_pool() -> Iterator[NewPool]:
    """Makes pools that are closed after the test."""
    made: list[RealPool] = []

    def new(program: Registry | Program, size: int = 1) -> RealPool:
        made.append(RealPool(program, size))
        return made[-1]

    yield new
    for each in made:
        each.close()
