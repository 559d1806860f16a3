"""Process identities: a host knows which of its own processes run, and nothing of others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterjack.clock import is_running, process_identity, process_name

BOOT = "0c7a61f3-5f0e-4f4e-9d7c-2f6c1f0a3b5d"
OTHER_BOOT = "b2d1e9a4-1c57-4a0b-8f2e-6f3f7d1c9e80"


@pytest.fixture
def zombie() -> Iterator[int]:
    """A process that has ended and was not reaped."""
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    yield child
    os.waitpid(child, 0)


def proc(folder: Path, *, boot: str | None = BOOT, state: str = "S", start: int = 4711) -> Path:
    """A /proc with this process, named `) R (`; without `boot` that of a system without /proc."""
    if boot is not None:
        (folder / "sys/kernel/random").mkdir(parents=True)
        (folder / "sys/kernel/random/boot_id").write_text(f"{boot}\n")
        (folder / "self/ns").mkdir(parents=True)
        (folder / "self/ns/pid").symlink_to("pid:[4026531836]")
        (folder / str(os.getpid())).mkdir()
        fields = [state, *["0"] * 18, str(start), "0"]
        stat = f"{os.getpid()} () R () {' '.join(fields)}\n"
        (folder / str(os.getpid()) / "stat").write_text(stat)
    return folder


def identity_in(there: Path) -> str:
    return process_identity(os.getpid(), there)


@pytest.mark.fault("F66")
class TestIsRunning:
    def test_a_running_process_is(self):
        assert is_running(os.getpid(), process_identity(os.getpid()))

    def test_a_process_that_was_not_reaped_is_not(self, zombie: int):
        assert is_running(zombie, process_identity(zombie)) is False

    def test_a_pid_that_is_free_is_not(self):
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)

        assert is_running(child, process_identity(os.getpid())) is False

    @pytest.mark.parametrize("state", ["Z", "X", "x"])
    def test_a_zombie_or_dead_process_is_not(self, tmp_path: Path, state: str):
        identity = identity_in(proc(tmp_path / "before"))

        assert is_running(os.getpid(), identity, proc(tmp_path / "then", state=state)) is False

    @pytest.mark.parametrize("state", ["R", "S", "D", "T", "I"])
    def test_a_sleeping_or_suspended_process_is(self, tmp_path: Path, state: str):
        there = proc(tmp_path, state=state)

        assert is_running(os.getpid(), identity_in(there), there)

    def test_a_process_whose_pid_was_reused_is_not(self, tmp_path: Path):
        """As after a restart of a container, where the only process always has pid 1."""
        identity = identity_in(proc(tmp_path / "before"))

        assert is_running(os.getpid(), identity, proc(tmp_path / "then", start=4712)) is False

    def test_a_process_of_another_machine_or_boot_is_unknown_whatever_the_host_name(
        self, tmp_path: Path
    ):
        identity = identity_in(proc(tmp_path / "there", boot=OTHER_BOOT))

        assert is_running(os.getpid(), identity, proc(tmp_path / "here")) is None

    def test_a_process_of_another_container_on_the_same_kernel_is_unknown(self, tmp_path: Path):
        here, there = proc(tmp_path / "here"), proc(tmp_path / "there")
        (there / "self/ns/pid").unlink()
        (there / "self/ns/pid").symlink_to("pid:[4026532271]")

        assert is_running(os.getpid(), identity_in(there), here) is None

    def test_a_process_registered_by_an_older_version_is_unknown(self):
        assert is_running(os.getpid(), "") is None

    def test_a_process_whose_state_is_hidden_is_as_long_as_its_pid_exists(self, tmp_path: Path):
        """As where /proc is mounted with `hidepid`."""
        there = proc(tmp_path)
        identity = identity_in(there)
        (there / str(os.getpid()) / "stat").unlink()

        assert is_running(os.getpid(), identity, there)


class TestIsRunningWithoutProc:
    def test_processes_of_this_host_are_known_by_their_pids(self, tmp_path: Path):
        there = proc(tmp_path, boot=None)

        assert is_running(os.getpid(), identity_in(there), there)

    def test_processes_of_other_hosts_are_unknown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        there = proc(tmp_path, boot=None)
        identity = identity_in(there)
        monkeypatch.setattr("socket.gethostname", lambda: "another-host")

        assert is_running(os.getpid(), identity, there) is None


@pytest.mark.fault("F66")
def test_processes_of_cloned_machines_have_different_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("socket.gethostname", lambda: "web-1")
    monkeypatch.setattr("os.getpid", lambda: 1)

    assert process_name() != process_name()
