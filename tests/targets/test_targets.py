"""Tasks and commands, each acted on as a worker does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import is_alive, wait_for
from harness.rules.world import at
from quarterjack.rules.definition.combinations import COMMAND_PAYLOAD_MAX
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.task import TaskTarget, current_call


def call(out: list[bytes] | None = None, payload: Any = None, **fields: Any) -> Call:
    said = [] if out is None else out
    return Call(
        "7-3",
        7,
        "nightly",
        None,
        at("09:00"),
        2,
        3,
        payload or {},
        None,
        "ada",
        fields,
        said.append,
    )


def acted(*argv: str, out: list[bytes] | None = None, payload: Any = None) -> Answer:
    async def act() -> Answer:
        target = CommandTarget()
        try:
            return await target.act(call(out, payload, command=list(argv)))
        finally:
            await target.close()

    return asyncio.run(asyncio.wait_for(act(), 30))


class TestCommands:
    def test_exit_code_0_succeeds_and_any_other_fails(self):
        assert acted("true") == Answer()
        assert acted("sh", "-c", "exit 3").error == "exit code 3"

    def test_what_it_puts_out_is_kept_from_both_streams(self):
        out: list[bytes] = []
        acted("sh", "-c", "echo one; echo two >&2", out=out)

        assert sorted(b"".join(out).split()) == [b"one", b"two"]

    def test_it_is_told_for_which_run_it_acts(self):
        out: list[bytes] = []
        acted("env", out=out, payload={"n": [1]})
        said = dict(line.split("=", 1) for line in b"".join(out).decode().splitlines())

        assert {name: value for name, value in said.items() if name.startswith("QUARTER")} == {
            "QUARTERJACK_RUN_ID": "7-3",
            "QUARTERJACK_SCHEDULE_ID": "7",
            "QUARTERJACK_SCHEDULE": "nightly",
            "QUARTERJACK_SLOT": "2026-11-16T09:00:00Z",
            "QUARTERJACK_ATTEMPT": "2",
            "QUARTERJACK_REPEAT": "3",
            "QUARTERJACK_PAYLOAD": '{"n": [1]}',
            "QUARTERJACK_LAST_SUCCESS": "",
            "QUARTERJACK_OWNER": "ada",
            "QUARTERJACK_IDEMPOTENCY_KEY": "7-3",
        }

    def test_it_can_take_as_much_payload_as_is_allowed(self):
        payload = {"x": "a" * (COMMAND_PAYLOAD_MAX - len('{"x": ""}'))}
        out: list[bytes] = []

        assert (
            acted("sh", "-c", "echo ${#QUARTERJACK_PAYLOAD}", out=out, payload=payload) == Answer()
        )
        assert int(b"".join(out)) == COMMAND_PAYLOAD_MAX

    def test_nothing_else_of_the_worker_reaches_it(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("DATABASE_PASSWORD", "secret")
        out: list[bytes] = []
        acted("sh", "-c", "env; ls -l /proc/self/fd | wc -l; cat", out=out)
        text = b"".join(out).decode()

        assert "secret" not in text
        assert text.splitlines()[-1] == "5", "0, 1, 2, the folder itself, and a heading"

    @pytest.mark.parametrize("program", ["no-such-program", "/etc/passwd", ""])
    def test_what_cannot_be_started_says_why(self, program: str):
        answer = acted(program)

        assert (answer.error or "").startswith(f"it could not be started: {program}: ")

    def test_a_signal_is_named(self):
        assert acted("sh", "-c", "kill -SEGV $$").error == "killed by SIGSEGV"
        assert acted("sh", "-c", "kill -40 $$").error == "killed by signal 40"

    def test_a_supervisor_that_is_killed_is_told(self):
        answer = acted("sh", "-c", "kill -9 $PPID; sleep 30")

        assert answer.error == "its supervising process was killed"

    def test_after_the_first_process_was_killed_another_is_started(self):
        async def act() -> Answer:
            target = CommandTarget()
            await target.act(call(command=["true"]))
            assert target._process is not None
            target._process.kill()
            target._process.wait(10)
            answer = await target.act(call(command=["true"]))
            await target.close()
            return answer

        assert asyncio.run(asyncio.wait_for(act(), 30)) == Answer()

    def test_no_descriptor_is_left_behind(self):
        async def act() -> tuple[int, int]:
            target = CommandTarget()
            counts = []
            for _ in range(2):
                for _ in range(5):
                    await target.act(call(command=["true"]))
                counts.append(len(list(Path("/proc/self/fd").iterdir())))
            await target.close()
            return counts[0], counts[1]

        before, after = asyncio.run(asyncio.wait_for(act(), 30))
        assert before == after

    @pytest.mark.parametrize(
        "script",
        [
            "setsid sleep 77 & echo $! > $0; exit 0",
            "(setsid sh -c 'sleep 77 & echo $! > $0; wait' $0 &) ; sleep 0.3",
            "exec >&- 2>&-; sleep 77 & echo $! > $0",
        ],
    )
    def test_nothing_that_it_started_outlives_it(self, tmp_path: Path, script: str):
        file = tmp_path / "pid"

        acted("sh", "-c", script, str(file))

        pid = int(file.read_text())
        assert wait_for(lambda: not is_alive(pid), 5, "it is gone")


class TestStopping:
    def stopped(self, *argv: str, when: Callable[[], Any]) -> list[bytes]:
        """Cancelled once this holds."""
        out: list[bytes] = []

        async def act() -> None:
            target = CommandTarget()
            acting = asyncio.ensure_future(target.act(call(out, command=list(argv))))
            await asyncio.to_thread(wait_for, when, 10, "it runs")
            acting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await acting
            await target.close()

        asyncio.run(asyncio.wait_for(act(), 30))
        return out

    @pytest.mark.mission("D8", "P12")
    def test_it_may_end_by_itself_and_so_may_its_children(self, tmp_path: Path):
        file = tmp_path / "ready"
        child = f"trap 'echo child; exit' TERM; touch {file}; while true; do sleep 0.05; done"
        script = f"trap 'echo parent; exit' TERM; sh -c \"{child}\" & wait; sleep 5"

        out = self.stopped("sh", "-c", script, when=file.exists)

        assert {b"child", b"parent"} <= set(b"".join(out).split())

    @pytest.mark.mission("P12")
    def test_who_does_not_end_when_asked_is_killed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.targets.command.GRACE_SECONDS", 0.3)
        file = tmp_path / "pid"
        script = "trap '' TERM; echo $$ > $0; while true; do sleep 0.05; done"

        self.stopped("sh", "-c", script, str(file), when=lambda: file.exists() and file.read_text())

        assert not is_alive(int(file.read_text()))

    @pytest.mark.fault("F49")
    def test_who_stopped_its_own_supervisor_is_killed_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.targets.command.GRACE_SECONDS", 0.2)
        monkeypatch.setattr("quarterjack.targets.command.SUPERVISOR_SECONDS", 0.2)
        file = tmp_path / "pid"
        script = "kill -STOP $PPID; echo $$ > $0; sleep 60"

        self.stopped("sh", "-c", script, str(file), when=lambda: file.exists() and file.read_text())

        pid = int(file.read_text())
        assert wait_for(lambda: not is_alive(pid), 5, "it is gone")


class TestTasks:
    def acted(self, function: Any, **fields: Any) -> Answer:
        wanted = {"task": "work", "args": [], "kwargs": {}, **fields}
        return asyncio.run(TaskTarget({"work": function}).act(call(**wanted)))

    def test_a_task_gets_its_arguments_and_its_value_is_the_result(self):
        async def add(one: int, *, other: int) -> dict[str, int]:
            return {"sum": one + other}

        assert self.acted(add, args=[1], kwargs={"other": 2}) == Answer(result={"sum": 3})

    def test_a_task_knows_for_which_run_it_acts(self):
        async def who() -> str:
            return current_call.get().run_id

        assert self.acted(who).result == "7-3"

    def test_a_result_that_is_no_json_is_a_failure_that_is_not_tried_again(self):
        async def odd() -> object:
            return object()

        answer = self.acted(odd)

        assert "the task succeeded, but its result cannot be kept" in (answer.error or "")
        assert answer.retryable is False

    def test_an_unknown_task_says_what_to_do(self):
        answer = self.acted(None, task="other")

        assert (answer.error or "").startswith('task "other" is not known to this worker; register')
