"""`up`: start, readiness, usage errors, and what a restart recovers."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService, wait_for
from quarterjack.cli import commands, foreground
from quarterjack.cli.runtime import Runtime
from quarterjack.service import Service
from quarterjack.times.instants import SECOND


def test_an_unknown_command_is_a_usage_error(cli: CommandLine):
    assert cli.invoke("nonsense").exit_code == 2


def test_an_invalid_file_exits_with_2_and_creates_no_database(tmp_path: Path):
    file = tmp_path / "q.yaml"
    file.write_text("schedules: {a: {every: 1h}}")
    result = subprocess.run(
        [sys.executable, "-m", "quarterjack", "up", str(file)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 2
    assert 'schedule "a": target {} is missing' in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["q.yaml"]


def test_the_health_endpoints_answer(service: RealService):
    process = service.up()

    assert service.get("/healthz")[:2] == (200, {"status": "ok"})
    assert service.get("/readyz")[:2] == (200, {"status": "ok"})
    assert service.get("/other")[0] == 404
    service.stop(process)


def test_a_start_on_a_port_in_use_fails_and_changes_nothing(service: RealService):
    process = service.up()
    line = [line for line in service.log().splitlines() if " up " in line][-1]
    port = line.rpartition(":")[2]
    service.declare({})
    second = subprocess.run(
        [sys.executable, "-m", "quarterjack", "up", "quarterjack.yaml", "--port", port],
        cwd=service.folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )

    assert second.returncode == 1
    assert "cannot bind" in second.stderr
    assert service.query("select count(*) from schedules where deleted_at is null") == [(4,)]
    service.stop(process)


def test_options_override_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[Service] = []
    monkeypatch.setattr(foreground, "run_in_foreground", lambda service, _: started.append(service))
    file = tmp_path / "q.yaml"
    file.write_text("workers: 3\ndatabase: sqlite:///file.db\nschedules: {}\n")
    arguments = ["up", str(file), "--workers", "7", "--database", "sqlite:///other.db"]

    result = CliRunner().invoke(commands, arguments, obj=Runtime())

    assert result.exit_code == 0, result.output
    (service,) = started
    assert service._declaration.settings.workers == 7
    assert service._database == "sqlite:///other.db"


@pytest.mark.mission("D11", "D12")
def test_a_one_shot_fires_once_and_is_done_also_after_a_restart(service: RealService):
    service.declare({})
    cli = CommandLine(service.folder)
    process = service.up()
    cli.output("add", "past", "--at", "2020-01-01T00:00:00Z", "--", *service.work(0))
    wait_for(lambda: cli.json("show", "past")["status"] == "done", 10, "the past one-shot fired")
    service.stop(process)
    process = service.up()
    cli.output("add", "soon", "--after", "200ms", "--", *service.work(0))
    wait_for(lambda: cli.json("show", "soon")["status"] == "done", 10, "the one-shot fired")
    service.stop(process)

    starts = [line.run for line in service.lines() if line.what == "start"]
    assert starts == ["1-0", "2-0"], "each once"
    shown = cli.json("show", "past")
    assert shown["last_slot"] == "2020-01-01T00:00:00Z"
    assert shown["last_fired_at"] > "2026-01-01T00:00:00Z", "when the slot was planned"
    assert (shown["last_success_run_id"], shown["run_count"]) == ("1-0", 1)
    assert (shown["next_run_at"], shown["last_success_at"] is None) == (None, False)


@pytest.mark.mission("P10")
def test_a_start_recovers_the_runs_of_a_crash_and_logs_their_number(service: RealService):
    service.declare({"slow": {"every": "1h", "command": service.work(60), "first_run": "now"}})
    process, cli = service.up(), CommandLine(service.folder)
    cli.output("add", "paused", "--every", "100ms", "--", "true")
    cli.output("pause", "paused")
    open_runs = "select 1 from runs where schedule_id = 2 and finished_at is null"
    wait_for(lambda: not service.query(open_runs), 10, "no open run of the paused schedule")
    wait_for(lambda: cli.json("runs", "show", "1-0")["state"] == "running", 10, "a running run")
    process.kill()
    process.wait(10)
    lapsed = f"select 1 from runs where lease_until < {Runtime().now() + 2 * SECOND}"
    wait_for(lambda: service.query(lapsed), 5, "a lease")
    until = service.query("select lease_until from runs where state = 'running'")[0][0]
    wait_for(lambda: Runtime().now() > until, 10, "the lease expired")
    before = cli.json("show", "paused")

    again = service.up()

    assert "requeued 1 runs after restart" in service.log()
    assert cli.json("show", "paused") == before, "a paused schedule does not change"
    wait_for(lambda: cli.json("runs", "show", "1-0")["attempt"] == 2, 10, "another attempt")
    again.kill()
