"""What every target promises, for each that acts by itself: sync tasks, async tasks and commands.
That nothing of the work goes on after a worker was killed is shown in
tests/acceptance/test_real_tasks.py."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.crash.kills import is_alive
from harness.targets import tasks
from harness.targets.attempts import Ended, Wanted, execute_on
from harness.targets.pools import RealPool
from quarterjack.engine.executor import Cause
from quarterjack.engine.output import HEAD_BYTES, TAIL_BYTES
from quarterjack.errors import Invalid
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.functions import Functions
from quarterjack.targets.kinds import KINDS
from quarterjack.targets.task import TaskTarget

TALK_MEBIBYTES = 100
GROWN_MIB_MAX = 32
"""Head, tail, and what was read and not written yet."""
FOREVER = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
TALK = f"import sys\nfor _ in range({TALK_MEBIBYTES}): sys.stdout.write('x' * 2**20)"


def python(script: str, *args: str) -> Wanted:
    return {"command": [sys.executable, "-S", "-E", "-c", script, *args]}


def task(name: str) -> Callable[..., Wanted]:
    return lambda *args: {"task": name, "args": list(args)}


class Kind(NamedTuple):
    """How work of one kind does what each target must be able to do."""

    succeed: Wanted
    result: Any
    fail: Wanted
    error: str
    forever: Callable[[str], Wanted]
    """Writes its process id into a file first."""
    talk: Wanted
    bad: Wanted
    problem: str
    """What is wrong with that."""


ONCE = [["a", 1], {}]
ALL = {
    "sync": Kind(
        task("echo")("a", 1), ONCE,
        task("raise_error")("no"), "ValueError: no",
        task("work_forever"),
        task("talk_much")(TALK_MEBIBYTES),
        {"task": 3}, "task 3 is not text",
    ),
    "async": Kind(
        task("echo_later")("a", 1), ONCE,
        task("raise_error_later")("no"), "ValueError: no",
        task("work_forever_later"),
        task("talk_much_later")(TALK_MEBIBYTES),
        {"task": "echo_later", "args": "no list"}, "args",
    ),
    "command": Kind(
        {"command": ["true"]}, None,
        {"command": ["sh", "-c", "exit 3"]}, "exit code 3",
        lambda file: python(FOREVER, file),
        python(TALK),
        {"command": "true"}, "write it as in command: [pg_dump, app]",
    ),
}  # fmt: skip
each_kind = pytest.mark.parametrize("kind", ALL.values(), ids=ALL)


@pytest.fixture(scope="module")
def pool() -> Iterator[RealPool]:
    made = RealPool(tasks.registry, 2)
    made.call("process")  # so that timeouts need not include the import
    yield made
    made.close()


@pytest.fixture
def execute(pool: RealPool) -> Callable[..., list[Ended]]:
    functions = Functions(None, pool.pool)
    targets = {
        "task": TaskTarget(tasks.registry.tasks, functions),
        "command": CommandTarget(pool.supervisors),
    }
    return lambda *wanted, **options: pool.wait(execute_on(targets, wanted, **options))


Execute = Callable[..., list[Ended]]


@each_kind
def test_work_that_succeeds(kind: Kind, execute: Execute):
    (ended,) = execute(kind.succeed)

    assert (ended.outcome.ending, ended.outcome.error) == ("succeeded", None)
    assert ended.outcome.result == kind.result


@each_kind
def test_work_that_fails_says_why_and_may_be_retried(kind: Kind, execute: Execute):
    (ended,) = execute(kind.fail)

    assert (ended.outcome.ending, ended.outcome.error) == ("failed", kind.error)
    assert ended.outcome.retryable


@pytest.mark.mission("P12")
@pytest.mark.fault("F49")
@each_kind
def test_work_that_times_out_is_over_when_its_attempt_ends(
    kind: Kind, execute: Execute, tmp_path: Path
):
    file = tmp_path / "pid"

    (ended,) = execute(dict(kind.forever(str(file))) | {"timeout": "1500ms"})

    assert (ended.outcome.ending, ended.outcome.error) == ("timed_out", "timed out after 1.5 s")
    assert is_over(file)


@each_kind
@pytest.mark.parametrize("cause", [Cause.CANCEL, Cause.SHUTDOWN, Cause.FENCED])
def test_work_that_is_cancelled_is_over_when_its_attempt_ends(
    kind: Kind, execute: Execute, tmp_path: Path, cause: Cause, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("quarterjack.targets.processes.pooled_process.COOPERATE_SECONDS", 0.1)
    file = tmp_path / "pid"

    def has_begun() -> bool:
        return file.exists() and bool(file.read_text())

    (ended,) = execute(kind.forever(str(file)), cancel_when=has_begun, cause=cause)

    assert ended.outcome.ending == ("cancelled" if cause is Cause.CANCEL else "lost")
    assert is_over(file)


def is_over(file: Path) -> bool:
    """Async tasks live in this process."""
    pid = int(file.read_text())
    return pid == os.getpid() or not is_alive(pid)


@pytest.mark.fault("F51")
@each_kind
def test_of_much_output_the_head_and_the_tail_are_kept_in_flat_memory(
    kind: Kind, pool: RealPool, execute: Execute
):
    before, most = memory_mib(), 0.0

    async def watch() -> None:
        nonlocal most
        while True:
            most = max(most, memory_mib())
            await asyncio.sleep(0.02)

    watching = pool.loop.create_task(watch())
    (ended,) = execute(kind.talk)
    watching.cancel()

    assert ended.outcome.ending == "succeeded"
    assert HEAD_BYTES < len(ended.output) <= HEAD_BYTES + TAIL_BYTES
    assert most - before < GROWN_MIB_MAX


def memory_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024


@each_kind
def test_work_that_is_defined_wrongly_is_refused_with_advice(kind: Kind):
    with pytest.raises(Invalid) as refused:
        KINDS.read(dict(kind.bad))

    assert kind.problem in str(refused.value)


def test_all_at_once_do_not_disturb_each_other(execute: Execute, tmp_path: Path):
    kinds = list(ALL.values())
    files = [str(tmp_path / name) for name in ALL]
    wanted = [
        *(
            dict(kind.forever(file)) | {"timeout": "1s"}
            for kind, file in zip(kinds, files, strict=True)
        ),
        *(each for kind in kinds for each in (kind.succeed, kind.fail)),
    ]

    endings = [each.outcome.ending for each in execute(*wanted)]

    assert endings == ["timed_out"] * 3 + ["succeeded", "failed"] * 3
