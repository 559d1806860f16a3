"""Commands, called as a worker calls them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import is_alive, wait_for
from harness.targets.calls import new_call
from quarterjack.targets.call import Answer
from quarterjack.targets.command import PAYLOAD_MAX, CommandTarget
from quarterjack.targets.processes.supervised import Supervisors


def run(*argv: str, out: list[bytes] | None = None, payload: Any = None) -> Answer:
    async def act() -> Answer:
        target = CommandTarget(Supervisors())
        try:
            return await target.act(new_call(out, payload, command=list(argv)))
        finally:
            await target.close()

    return asyncio.run(asyncio.wait_for(act(), 30))


class TestCommands:
    def test_exit_code_0_succeeds_and_any_other_fails(self):
        assert run("true") == Answer()
        assert run("sh", "-c", "exit 3").error == "exit code 3"

    def test_both_output_streams_are_kept(self):
        out: list[bytes] = []
        run("sh", "-c", "echo one; echo two >&2", out=out)

        assert sorted(b"".join(out).split()) == [b"one", b"two"]

    def test_its_environment_describes_the_run(self):
        out: list[bytes] = []
        run("env", out=out, payload={"n": [1]})
        variables = dict(line.split("=", 1) for line in b"".join(out).decode().splitlines())

        assert {name: value for name, value in variables.items() if name.startswith("QUARTER")} == {
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

    def test_the_largest_payload_allowed_fits_its_environment(self):
        payload = {"x": "a" * (PAYLOAD_MAX - len('{"x": ""}'))}
        out: list[bytes] = []

        assert run("sh", "-c", "echo ${#QUARTERJACK_PAYLOAD}", out=out, payload=payload) == Answer()
        assert int(b"".join(out)) == PAYLOAD_MAX

    def test_it_inherits_no_other_variables_and_no_descriptors(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("DATABASE_PASSWORD", "secret")
        out: list[bytes] = []
        run("sh", "-c", "env; ls -l /proc/self/fd | wc -l; cat", out=out)
        text = b"".join(out).decode()

        assert "secret" not in text
        assert text.splitlines()[-1] == "5", "0, 1, 2, the folder itself, and a heading"

    @pytest.mark.parametrize("program", ["no-such-program", "/etc/passwd", ""])
    def test_a_command_that_cannot_be_started_fails_with_the_reason(self, program: str):
        answer = run(program)

        assert (answer.error or "").startswith(f"cannot start {program}: ")

    def test_a_command_killed_by_a_signal_names_it(self):
        assert run("sh", "-c", "kill -SEGV $$").error == "killed by SIGSEGV"
        assert run("sh", "-c", "kill -40 $$").error == "killed by signal 40"

    def test_a_command_whose_supervisor_was_killed_fails_with_that_reason(self):
        answer = run("sh", "-c", "kill -9 $PPID; sleep 30")

        assert answer.error == "the supervisor process was killed"

    def test_no_descriptor_is_left_open(self):
        async def act() -> tuple[int, int]:
            target = CommandTarget(Supervisors())
            counts = []
            for _ in range(2):
                for _ in range(5):
                    await target.act(new_call(command=["true"]))
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
    def test_no_process_that_it_started_outlives_it(self, tmp_path: Path, script: str):
        file = tmp_path / "pid"

        run("sh", "-c", script, str(file))

        pid = int(file.read_text())
        assert wait_for(lambda: not is_alive(pid), 5, "it is gone")


class TestCancelling:
    def cancel(self, *argv: str, when: Callable[[], Any]) -> list[bytes]:
        """Once this holds. Returns the output."""
        out: list[bytes] = []

        async def act() -> None:
            target = CommandTarget(Supervisors())
            running = asyncio.ensure_future(target.act(new_call(out, command=list(argv))))
            await asyncio.to_thread(wait_for, when, 10, "it runs")
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await target.close()

        asyncio.run(asyncio.wait_for(act(), 30))
        return out

    @pytest.mark.mission("D8", "P12")
    def test_the_command_and_its_children_get_time_to_end_by_themselves(self, tmp_path: Path):
        file = tmp_path / "ready"
        child = f"trap 'echo child; exit' TERM; touch {file}; while true; do sleep 0.05; done"
        script = f"trap 'echo parent; exit' TERM; sh -c \"{child}\" & wait; sleep 5"

        out = self.cancel("sh", "-c", script, when=file.exists)

        assert {b"child", b"parent"} <= set(b"".join(out).split())

    @pytest.mark.mission("P12")
    def test_a_command_that_ignores_sigterm_is_killed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.targets.command.GRACE_SECONDS", 0.3)
        file = tmp_path / "pid"
        script = "trap '' TERM; echo $$ > $0; while true; do sleep 0.05; done"

        self.cancel("sh", "-c", script, str(file), when=lambda: file.exists() and file.read_text())

        assert not is_alive(int(file.read_text()))

    @pytest.mark.fault("F49")
    def test_a_command_that_suspended_its_supervisor_is_killed_too(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr("quarterjack.targets.command.GRACE_SECONDS", 0.2)
        monkeypatch.setattr("quarterjack.targets.processes.supervised.SUPERVISOR_SECONDS", 0.2)
        file = tmp_path / "pid"
        script = "kill -STOP $PPID; echo $$ > $0; sleep 60"

        self.cancel("sh", "-c", script, str(file), when=lambda: file.exists() and file.read_text())

        pid = int(file.read_text())
        assert wait_for(lambda: not is_alive(pid), 5, "it is gone")
