"""`pause`, `resume`, `run`, `backfill`, `rm`, `runs cancel` and `runs retry`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService, wait_for
from quarterjack.cli.runtime import Runtime
from quarterjack.times.instants import read_instant


def milliseconds_from_now(instant: str) -> int:
    return (read_instant(instant, "test") - Runtime().now()) // 1000


def fails_once(folder: Path) -> list[str]:
    """A command that fails at its first run for 2 January."""
    done = folder / "done"
    is_second = 'case "$QUARTERJACK_SLOT" in 2026-01-02*) '
    return ["sh", "-c", f"{is_second} test -e {done} || {{ touch {done}; exit 3; }};; esac"]


def test_pause_clears_the_next_run_and_resume_counts_from_now(cli: CommandLine):
    cli.output("add", "a", "--every", "1h", "--", "true")

    paused = cli.json("pause", "a", "--reason", "repairs", "--until", "2h")
    assert (paused["status"], paused["status_reason"]) == ("paused", "repairs")
    assert (paused["next_run_at"], paused["paused_by"]) == (None, Runtime().user)
    assert 0 < milliseconds_from_now(paused["paused_until"]) <= 2 * 3_600_000
    resumed = cli.json("resume", "a")

    assert resumed["status"] == "active"
    assert 3_590_000 < milliseconds_from_now(resumed["next_run_at"]) <= 3_600_000
    assert "only a paused schedule can be resumed" in cli.error(1, "resume", "a")
    assert "paused until 2030-01-01T00:00:00Z: 1 a" in cli.output(
        "pause", "a", "--until", "2030-01-01T00:00:00Z"
    )


def test_rm_deletes_all_given_schedules_or_none(cli: CommandLine):
    for key in "abc":
        cli.output("add", key, "--every", "1h", "--", "true")

    assert 'no schedule "x"' in cli.error(1, "rm", "a", "x")
    assert cli.output("rm", "a", "b") == "deleted 1 a\ndeleted 2 b\n"
    assert cli.json("rm", "c") == {"status": "deleted", "ids": [3]}
    assert cli.json("list") == {"items": []}


def test_backfill_without_yes_only_counts(cli: CommandLine):
    cli.output("add", "a", "--cron", "*/5 * * * *", "--", "true")
    span = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T01:00:00Z"]

    error = cli.error(3, "backfill", "a", *span)
    assert "13 slots of 1 a from 2026-01-01T00:00:00Z to 2026-01-01T01:00:00Z" in error
    assert json.loads(cli.error(3, "backfill", "a", *span, "--json")) == {
        "status": "pending",
        "slots": 13,
        "left_out": 0,
    }
    assert [row["verb"] for row in cli.json("audit")["items"]] == ["create"]
    answer = cli.json("backfill", "a", *span, "--yes")
    assert answer == {"status": "ok", "slots": 13, "left_out": 0}
    assert "already has a backfill up to" in cli.error(1, "backfill", "a", *span, "--yes")
    assert cli.json("backfill", "a", "--stop")["status"] == "active"
    assert "nothing to stop" in cli.error(1, "backfill", "a", "--stop")
    assert "is after the end" in cli.error(
        2, "backfill", "a", "--from", span[3], "--to", span[1], "--yes"
    )
    assert "--from is required" in cli.error(2, "backfill", "a")
    assert "is in the future; give an instant that has passed, or --to" in cli.error(
        2, "backfill", "a", "--from", "2099-01-01T00:00:00Z", "--yes"
    )
    assert "slots of 1 a from" in cli.error(3, "backfill", "a", "--from", "2 hours", "--to", "1h")
    assert 'until "never" is no instant and no duration; write it as' in cli.error(
        2, "pause", "a", "--until", "never"
    )
    long_ago = ["--from", "0001-01-01T00:00:00Z", "--to", "0001-01-01T01:00:00Z"]
    assert cli.json("backfill", "a", *long_ago, "--yes")["slots"] == 13
    assert "0001-01-01T00:00:00Z to 0001-01-01T01:00:00Z" in cli.output("audit", "a")


def test_a_running_service_acts_on_requests_at_once(service: RealService):
    service.declare({"declared": {"every": "1h", "command": service.work(0)}})
    process, cli = service.up(), CommandLine(service.folder)

    run = cli.json("run", "declared")["run_id"]
    wait_for(service.lines, 5, "a run started")
    cli.output(
        "add",
        "slow",
        "--every",
        "1h",
        "--",
        sys.executable,
        "-c",
        "import time; time.sleep(60)",
    )
    cli.output("run", "slow")
    wait_for(lambda: cli.json("runs", "show", "2-0")["state"] == "running", 10, "a running run")
    error = cli.error(1, "rm", "slow")

    assert (run, "run 2-0 is running" in error) == ("1-0", True)
    assert "does not allow overlapping runs" in cli.error(1, "run", "slow")
    assert cli.output("runs", "cancel", "2-0") == "stopping: 2-0\n"
    wait_for(lambda: cli.json("runs", "show", "2-0")["state"] == "cancelled", 10, "a cancelled run")
    assert cli.output("runs", "retry", "2-0") == "retrying: 2-1\n"
    cli.json("runs", "cancel", "2-1")
    wait_for(lambda: cli.json("runs", "show", "2-1")["state"] == "cancelled", 10, "a cancelled run")
    assert "it there" in cli.error(1, "edit", "declared", "--every", "2h")
    assert str(service.folder / "quarterjack.yaml") in cli.error(1, "rm", "declared")
    cli.output("rm", "slow")
    service.stop(process)


@pytest.mark.mission("E5")
def test_a_paused_schedule_cannot_be_run_and_a_manual_run_moves_no_slot(service: RealService):
    service.declare({"declared": {"cron": "0 3 1 1 *", "command": service.work(0)}})
    process, cli = service.up(), CommandLine(service.folder)
    before = cli.json("show", "declared")["next_run_at"]
    assert cli.json("run", "declared")["status"] == "dispatched"
    wait_for(
        lambda: cli.json("runs", "show", "1-0")["state"] == "succeeded", 10, "a successful run"
    )

    assert cli.json("show", "declared")["next_run_at"] == before
    assert cli.json("pause", "declared")["status"] == "paused"
    assert "is paused; resume it first" in cli.error(1, "run", "declared")
    assert cli.json("resume", "declared")["next_run_at"] == before
    service.stop(process)


@pytest.mark.mission("H8")
def test_a_second_backfill_leaves_out_slots_that_have_succeeded(service: RealService):
    service.declare({"fails once": {"cron": "0 0 * * *", "command": fails_once(service.folder)}})
    process, cli = service.up(), CommandLine(service.folder)
    span = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z"]
    backfill = ["backfill", "fails once", *span]

    def wait_until_ended(runs: int) -> None:
        left = "select count(*), backfill from runs, schedules where finished_at is not null"
        wait_for(lambda: service.query(left) == [(runs, None)], 20, f"{runs} runs have ended")

    assert "backfilling 3 slots of 1 fails once from" in cli.output(*backfill, "--yes")
    wait_until_ended(3)
    error = cli.error(3, *backfill)
    assert "1 slots of 1 fails once from" in error
    assert "leaving out 2 that have succeeded or are open (see --again)" in error
    assert cli.json(*backfill, "--yes") == {"status": "ok", "slots": 1, "left_out": 2}
    wait_until_ended(4)
    assert cli.json(*backfill, "--yes") == {"status": "ok", "slots": 0, "left_out": 3}
    wait_until_ended(4)
    answer = cli.json(*backfill, "--again", "--yes")
    assert answer == {"status": "ok", "slots": 3, "left_out": 0}
    wait_until_ended(7)
    service.stop(process)

    states = service.query("select state from runs order by number")
    assert states == [("succeeded",), ("failed",), *[("succeeded",)] * 5]
