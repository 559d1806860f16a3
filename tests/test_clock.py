"""Which process runs: what a host can tell of its own processes, and of no others."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterjack.clock import is_running, process_identity

BOOT = "0c7a61f3-5f0e-4f4e-9d7c-2f6c1f0a3b5d"
OTHER_BOOT = "b2d1e9a4-1c57-4a0b-8f2e-6f3f7d1c9e80"


@pytest.fixture
def zombie() -> Iterator[int]:
    """A process that has ended, and whose parent has not asked how."""
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    yield child
    os.waitpid(child, 0)


def proc(folder: Path, *, boot: str | None = BOOT, state: str = "S", start: int = 4711) -> Path:
    """A /proc that tells of this very process, which is called `) R (`; one without `boot` is that
    of a system that has none."""
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
class TestAProcess:
    def test_runs_until_it_ends(self):
        assert is_running(os.getpid(), process_identity(os.getpid()))

    def test_has_ended_though_its_parent_has_not_noticed(self, zombie: int):
        assert is_running(zombie, process_identity(zombie)) is False

    def test_has_ended_when_its_number_is_free(self):
        if (child := os.fork()) == 0:
            os._exit(0)
        os.waitpid(child, 0)

        assert is_running(child, process_identity(os.getpid())) is False

    @pytest.mark.parametrize("state", ["Z", "X", "x"])
    def test_that_is_a_zombie_or_dead_does_not_run(self, tmp_path: Path, state: str):
        identity = identity_in(proc(tmp_path / "before"))

        assert is_running(os.getpid(), identity, proc(tmp_path / "then", state=state)) is False

    @pytest.mark.parametrize("state", ["R", "S", "D", "T", "I"])
    def test_that_waits_or_is_stopped_runs(self, tmp_path: Path, state: str):
        there = proc(tmp_path, state=state)

        assert is_running(os.getpid(), identity_in(there), there)

    def test_whose_number_another_one_has_by_now_has_ended(self, tmp_path: Path):
        """As after a restart in a container, where the only process is always the first."""
        identity = identity_in(proc(tmp_path / "before"))

        assert is_running(os.getpid(), identity, proc(tmp_path / "then", start=4712)) is False

    def test_of_another_machine_or_another_boot_is_unknown_whatever_the_host_is_called(
        self, tmp_path: Path
    ):
        identity = identity_in(proc(tmp_path / "there", boot=OTHER_BOOT))

        assert is_running(os.getpid(), identity, proc(tmp_path / "here")) is None

    def test_of_another_container_is_unknown_though_the_kernel_is_the_same(self, tmp_path: Path):
        here, there = proc(tmp_path / "here"), proc(tmp_path / "there")
        (there / "self/ns/pid").unlink()
        (there / "self/ns/pid").symlink_to("pid:[4026532271]")

        assert is_running(os.getpid(), identity_in(there), here) is None

    def test_that_an_older_program_registered_is_unknown(self):
        assert is_running(os.getpid(), "") is None

    def test_that_is_hidden_from_us_runs_as_long_as_there_is_one_of_its_number(
        self, tmp_path: Path
    ):
        """As where /proc is mounted with `hidepid`."""
        there = proc(tmp_path)
        identity = identity_in(there)
        (there / str(os.getpid()) / "stat").unlink()

        assert is_running(os.getpid(), identity, there)


class TestAHostWithoutProc:
    def test_knows_its_processes_by_their_numbers(self, tmp_path: Path):
        there = proc(tmp_path, boot=None)

        assert is_running(os.getpid(), identity_in(there), there)

    def test_knows_none_of_other_hosts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        there = proc(tmp_path, boot=None)
        identity = identity_in(there)
        monkeypatch.setattr("socket.gethostname", lambda: "another-host")

        assert is_running(os.getpid(), identity, there) is None
