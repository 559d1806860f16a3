"""What a worker and a task process both see at once, here through two mappings of the same file."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterjack.targets.processes.shared_state import SharedState

OTHER_PROCESS = """
import sys
from quarterjack.targets.processes.shared_state import SharedState
state = SharedState.open(sys.argv[1])
print(state.begin(7, 123), state.begin(8, None), state.deadline, state.is_cancelled)
sys.stdout.flush()
sys.stdin.readline()
print(state.deadline, state.is_cancelled)
"""


@pytest.fixture
def both() -> Iterator[tuple[SharedState, SharedState]]:
    """The worker's, and that of the process."""
    worker, path = SharedState.create()
    process = SharedState.open(str(path))
    path.unlink()
    yield worker, process
    worker.close()
    process.close()


def test_another_process_sees_what_the_worker_decides():
    worker, path = SharedState.create()
    argv = [sys.executable, "-c", OTHER_PROCESS, str(path)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first = process.stdout.readline()
        begun = worker.begun
        worker.cancel(8)
        worker.deadline = 456
        rest = process.communicate("\n", timeout=30)[0]
    worker.close()
    path.unlink()

    assert (first, begun, rest) == ("True True None False\n", 8, "456 True\n")


def test_calls_that_were_taken_back_do_not_begin(both: tuple[SharedState, SharedState]):
    worker, process = both
    assert process.begin(1, None)

    assert worker.take_back(3) == 1

    assert [process.begin(number, None) for number in (2, 3, 4)] == [False, False, True]
    assert worker.begun == 4


def test_a_cancellation_is_for_one_call_and_not_for_the_next(
    both: tuple[SharedState, SharedState],
):
    worker, process = both
    process.begin(1, None)
    worker.cancel(1)
    assert process.is_cancelled

    process.begin(2, None)

    assert not process.is_cancelled


def test_each_call_has_its_own_deadline_which_may_move(both: tuple[SharedState, SharedState]):
    worker, process = both
    process.begin(1, 123)
    seen = [process.deadline]
    worker.deadline = 456
    seen.append(process.deadline)
    process.begin(2, None)

    assert [*seen, process.deadline] == [123, 456, None]


def test_its_file_is_small_and_only_for_this_user():
    state, path = SharedState.create()
    status = path.stat()
    path.unlink()
    state.close()

    assert (status.st_size, status.st_mode & 0o777, status.st_uid) == (32, 0o600, os.getuid())


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs a file system in memory")
def test_its_file_has_its_room_so_that_a_disk_that_is_full_later_kills_no_process(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(tempfile, "tempdir", "/dev/shm")
    state, path = SharedState.create()
    blocks = path.stat().st_blocks
    path.unlink()
    state.close()

    assert blocks > 0


def test_nothing_is_left_open():
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    state, path = SharedState.create()
    path.unlink()
    state.close()

    assert count() == before
