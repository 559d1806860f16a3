"""What a person asks on the command line, of a database at rest and of a service that runs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.desk import Desk
from harness.crash.kills import House, wait_for
from quarterjack.app import SystemRuntime
from quarterjack.cli import commands
from quarterjack.times.instants import SECOND, read_instant


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def milliseconds_from_now(instant: str) -> int:
    return (read_instant(instant, "test") - SystemRuntime().now()) // 1000


class TestADatabaseAtRest:
    def test_add_makes_the_database_and_says_when_it_runs(self, desk: Desk):
        said = desk.said("add", "nightly", "--cron", "0 3 * * *", "--", "pg_dump", "app")

        assert said.startswith("added: 1 nightly; next run ")
        shown = desk.json("show", "nightly")
        assert shown["target"] == {"kind": "command", "command": ["pg_dump", "app"]}
        assert (shown["origin"], shown["user_uuid"]) == ("cli", SystemRuntime().user)

    def test_add_answers_programs_as_the_api_does(self, desk: Desk):
        answer = desk.json(
            "add", "a", "--every", "5m", "--payload", '{"n": 1}', "--set", "max_retries=3",
            "--set", 'tags=["x"]', "--", "true",
        )  # fmt: skip

        assert (answer["status"], answer["id"]) == ("ok", 1)
        assert answer["next_run"] == answer["schedule"]["next_run"]
        assert answer["schedule"]["payload"] == {"n": 1}
        assert (answer["schedule"]["max_retries"], answer["schedule"]["tags"]) == (3, ["x"])

    def test_what_follows_two_dashes_is_the_command_and_nothing_else(self, desk: Desk):
        desk.said("add", "--every", "1h", "--", "echo", "--hi", "--")

        shown = desk.json("show", "schedule-1")

        assert shown["target"]["command"] == ["echo", "--hi", "--"]
        assert "[-- COMMAND...]" in desk.said("add", "--help")

    def test_what_became_of_a_schedule_that_is_gone_can_be_asked(self, desk: Desk):
        desk.said("add", "a", "--every", "1h", "--", "true")
        desk.said("rm", "a")

        assert "key: a -> gone" in desk.said("audit", "a")
        assert desk.json("show", "1")["deleted_at"] is not None
        assert "no schedule" in desk.refused(1, "pause", "a")

    def test_many_are_added_from_a_file_or_none(self, desk: Desk):
        one, other = {"key": "a", "every": "1h", "command": ["true"]}, {"every": "0h"}
        desk.said("add", "--from", "-", given=json.dumps([one]))
        lines = "\n".join(json.dumps({**one, "key": key}) for key in "bcd")
        assert len(desk.json("add", "--from", "-", given=lines)["items"]) == 3

        result = desk.run("add", "--from", "-", given=json.dumps([{**one, "key": "e"}, other]))

        assert (result.exit_code, "number 2" in result.output) == (2, True)
        assert [each["key"] for each in desk.json("list")["items"]] == ["a", "b", "c", "d"]

    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ("nonsense", '-:1: "nonsense" is no JSON'),
            ("[3]", "number 1: 3 is no schedule"),
            ('{"every": "1h"}\n\n{', '-:3: "{" is no JSON'),
            ('[\n{"every": }]', "line 2 column 11"),
            ("[" * 60_000, "is no JSON"),
            ("\n\n", "there is no schedule in it"),
        ],
    )
    def test_a_file_that_cannot_be_read_is_told(self, desk: Desk, given: str, told: str):
        result = desk.run("add", "--from", "-", given=given)
        assert (result.exit_code, told.replace("-:", "<stdin>:") in result.output) == (2, True)

    def test_wrong_usage_is_told(self, desk: Desk):
        desk.said("add", "a", "--every", "1h", "--", "true")
        assert "FIELD=VALUE" in desk.refused(2, "add", "b", "--set", "x", "--", "true")
        assert "said twice" in desk.refused(2, "add", "b", "--cron", "@daily", "--set", "cron=x")
        assert "first word" in desk.refused(2, "add", "b", "--set", "key=c", "--", "true")
        assert "said as well" in desk.refused(2, "edit", "a", "--name", "x", "--unset", "name")
        assert "is no JSON" in desk.refused(2, "add", "b", "--payload", "{bad", "--", "true")
        assert "unexpected extra" in desk.refused(2, "edit", "a", "cron", "0 4 * * *")
        assert "no schedule" in desk.refused(1, "rm", "\udcff")
        assert "holds U+DCFF" in desk.refused(2, "pause", "a", "--reason", "\udcff")
        assert "say what should change" in desk.refused(2, "edit", "a")
        result = desk.run("add", "b", "--from", "-", given="[]")
        assert (result.exit_code, "leave the other fields out" in result.output) == (2, True)
        desk.database.unlink()
        assert "there is none" in desk.refused(1, "pause", "a")

    @pytest.mark.mission("P11")
    def test_repeat_count_and_retry_max_are_taken(self, desk: Desk):
        desk.said(
            "add", "a", "--every", "1h", "--set", "repeat_count=3", "--set", "retry_max=7",
            "--", "true",
        )  # fmt: skip
        shown = desk.json("show", "a")
        assert (shown["total_repeats"], shown["max_retries"]) == (3, 7)

        shown = desk.json("edit", "a", "--set", "repeat_count=4")

        assert (shown["total_repeats"], shown["max_retries"]) == (4, 7)

    def test_edit_changes_only_what_is_said(self, desk: Desk):
        desk.said("add", "a", "--every", "1h", "--set", "max_retries=3", "--", "true")

        assert "edited, now version 2: 1 a" in desk.said("edit", "a", "--every", "2h")
        shown = desk.json("edit", "a", "--unset", "max_retries", "--", "false")

        assert (shown["interval_seconds"], shown["max_retries"], shown["version"]) == (7200, 0, 3)
        assert shown["target"]["command"] == ["false"]
        told = desk.refused(1, "edit", "a", "--every", "3h", "--version", "2")
        assert "is at version 3, not 2" in told

    @pytest.mark.mission("P4")
    def test_pause_clears_the_next_run_and_resume_counts_from_now(self, desk: Desk):
        desk.said("add", "a", "--every", "1h", "--", "true")

        paused = desk.json("pause", "a", "--reason", "repairs", "--until", "2h")
        assert (paused["status"], paused["status_reason"]) == ("paused", "repairs")
        assert (paused["next_run_at"], paused["paused_by"]) == (None, SystemRuntime().user)
        assert 0 < milliseconds_from_now(paused["paused_until"]) <= 2 * 3_600_000
        resumed = desk.json("resume", "a")

        assert resumed["status"] == "active"
        assert 3_590_000 < milliseconds_from_now(resumed["next_run_at"]) <= 3_600_000
        assert "only a paused schedule can be resumed" in desk.refused(1, "resume", "a")
        assert "paused until 2030-01-01T00:00:00Z: 1 a" in desk.said(
            "pause", "a", "--until", "2030-01-01T00:00:00Z"
        )

    def test_several_are_deleted_or_none(self, desk: Desk):
        for key in "abc":
            desk.said("add", key, "--every", "1h", "--", "true")

        assert 'no schedule "x"' in desk.refused(1, "rm", "a", "x")
        assert desk.said("rm", "a", "b") == "deleted 1 a\ndeleted 2 b\n"
        assert desk.json("rm", "c") == {"status": "deleted", "ids": [3]}
        assert desk.json("list") == {"items": []}

    def test_backfill_counts_first_and_does_nothing_without_yes(self, desk: Desk):
        desk.said("add", "a", "--cron", "*/5 * * * *", "--", "true")
        span = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T01:00:00Z"]

        told = desk.refused(3, "backfill", "a", *span)
        assert "13 slots of 1 a from 2026-01-01T00:00:00Z to 2026-01-01T01:00:00Z" in told
        assert json.loads(desk.refused(3, "backfill", "a", *span, "--json")) == {
            "status": "pending",
            "slots": 13,
            "left_out": 0,
        }
        assert [row["verb"] for row in desk.json("audit")["items"]] == ["create"]
        answer = desk.json("backfill", "a", *span, "--yes")
        assert answer == {"status": "ok", "slots": 13, "left_out": 0}
        assert "is filled up to" in desk.refused(1, "backfill", "a", *span, "--yes")
        assert desk.json("backfill", "a", "--stop")["status"] == "active"
        assert "nothing to stop" in desk.refused(1, "backfill", "a", "--stop")
        assert "is after the end" in desk.refused(
            2, "backfill", "a", "--from", span[3], "--to", span[1], "--yes"
        )
        assert "say --from" in desk.refused(2, "backfill", "a")
        long_ago = ["--from", "0001-01-01T00:00:00Z", "--to", "0001-01-01T01:00:00Z"]
        assert desk.json("backfill", "a", *long_ago, "--yes")["slots"] == 13
        assert "0001-01-01T00:00:00Z to 0001-01-01T01:00:00Z" in desk.said("audit", "a")

    def test_the_audit_says_who_asked_for_what(self, desk: Desk):
        desk.said("add", "a", "--every", "1h", "--", "true")
        desk.said("add", "b", "--every", "1h", "--", "true")
        desk.said("pause", "a", "--reason", "repairs")

        assert "status: active -> paused, status_reason: None -> repairs" in desk.said("audit", "a")
        items = desk.json("audit")["items"]
        assert [(row["verb"], row["schedule_id"], row["origin"]) for row in items] == [
            ("pause", 1, "cli"),
            ("create", 2, "cli"),
            ("create", 1, "cli"),
        ]
        assert {row["by"] for row in items} == {SystemRuntime().user}
        assert len(desk.json("audit", "--before", "3", "--limit", "1")["items"]) == 1
        assert "nobody has asked" in desk.said("audit", "--before", "0")

    def test_the_configuration_file_says_where(
        self, desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        desk.said("add", "a", "--every", "1h", "--", "true")
        file = tmp_path / "quarterjack.yaml"
        file.write_text(json.dumps({"database": f"sqlite:///{desk.database}"}))
        monkeypatch.delenv("QUARTERJACK_DATABASE_URL", raising=False)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()

        for folder, words in [(tmp_path, []), (elsewhere, ["--config", str(file)])]:
            monkeypatch.chdir(folder)
            result = CliRunner().invoke(commands, ["list", *words], obj=SystemRuntime())
            assert (result.exit_code, "every hour" in result.output) == (0, True)
        result = CliRunner().invoke(commands, ["list"], obj=SystemRuntime())
        assert "database quarterjack.db: there is none" in result.output


def fails_once(folder: Path) -> list[str]:
    """It fails for the second of January, but only the first time."""
    done = folder / "done"
    is_second = 'case "$QUARTERJACK_SLOT" in 2026-01-02*) '
    return ["sh", "-c", f"{is_second} test -e {done} || {{ touch {done}; exit 3; }};; esac"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[House]:
    service = House(tmp_path)
    yield service
    service.end()


class TestARunningService:
    def test_notices_at_once_what_is_asked_of_its_database(self, service: House):
        service.declare({"declared": {"every": "1h", "command": service.work(0)}})
        process, desk = service.up(), Desk(service.folder)

        run = desk.json("run", "declared")["run_id"]
        wait_for(service.lines, 5, "it runs at once")
        desk.said(
            "add",
            "slow",
            "--every",
            "1h",
            "--",
            sys.executable,
            "-c",
            "import time; time.sleep(60)",
        )
        desk.said("run", "slow")
        wait_for(lambda: desk.json("runs", "show", "2-0")["state"] == "running", 10, "running")
        told = desk.refused(1, "rm", "slow")

        assert (run, "run 2-0 is running" in told) == ("1-0", True)
        assert "must not run beside it" in desk.refused(1, "run", "slow")
        assert desk.said("runs", "cancel", "2-0") == "stopping: 2-0\n"
        wait_for(lambda: desk.json("runs", "show", "2-0")["state"] == "cancelled", 10, "stopped")
        assert desk.said("runs", "retry", "2-0") == "to be tried: 2-1\n"
        desk.json("runs", "cancel", "2-1")
        wait_for(lambda: desk.json("runs", "show", "2-1")["state"] == "cancelled", 10, "stopped")
        assert "it there" in desk.refused(1, "edit", "declared", "--every", "2h")
        assert str(service.folder / "quarterjack.yaml") in desk.refused(1, "rm", "declared")
        desk.said("rm", "slow")
        service.stop(process)

    @pytest.mark.mission("E5")
    def test_a_paused_one_is_not_run_and_a_manual_run_moves_no_slot(self, service: House):
        service.declare({"declared": {"cron": "0 3 1 1 *", "command": service.work(0)}})
        process, desk = service.up(), Desk(service.folder)
        before = desk.json("show", "declared")["next_run_at"]
        assert desk.json("run", "declared")["status"] == "dispatched"
        wait_for(lambda: desk.json("runs", "show", "1-0")["state"] == "succeeded", 10, "it ran")

        assert desk.json("show", "declared")["next_run_at"] == before
        assert desk.json("pause", "declared")["status"] == "paused"
        assert "is paused; resume it first" in desk.refused(1, "run", "declared")
        assert desk.json("resume", "declared")["next_run_at"] == before
        service.stop(process)

    @pytest.mark.mission("H8")
    def test_a_backfill_asked_for_twice_says_what_it_leaves_out(self, service: House):
        service.declare(
            {"fails once": {"cron": "0 0 * * *", "command": fails_once(service.folder)}}
        )
        process, desk = service.up(), Desk(service.folder)
        span = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-03T00:00:00Z"]
        backfill = ["backfill", "fails once", *span]

        def wait_until_it_is_worked_off(runs: int) -> None:
            left = "select count(*), backfill from runs, schedules where finished_at is not null"
            wait_for(lambda: service.query(left) == [(runs, None)], 20, f"{runs} runs have ended")

        assert "to be run: 3 slots of 1 fails once from" in desk.said(*backfill, "--yes")
        wait_until_it_is_worked_off(3)
        told = desk.refused(3, *backfill)
        assert "1 slots of 1 fails once from" in told
        assert "2 have succeeded or are open (--again runs them, too)" in told
        assert desk.json(*backfill, "--yes") == {"status": "ok", "slots": 1, "left_out": 2}
        wait_until_it_is_worked_off(4)
        assert desk.json(*backfill, "--yes") == {"status": "ok", "slots": 0, "left_out": 3}
        wait_until_it_is_worked_off(4)
        answer = desk.json(*backfill, "--again", "--yes")
        assert answer == {"status": "ok", "slots": 3, "left_out": 0}
        wait_until_it_is_worked_off(7)
        service.stop(process)

        states = service.query("select state from runs order by number")
        assert states == [("succeeded",), ("failed",), *[("succeeded",)] * 5]

    @pytest.mark.mission("D11", "D12")
    def test_one_shots_are_done_after_they_fired_over_a_restart_too(self, service: House):
        service.declare({})
        desk = Desk(service.folder)
        process = service.up()
        desk.said("add", "past", "--at", "2020-01-01T00:00:00Z", "--", *service.work(0))
        wait_for(lambda: desk.json("show", "past")["status"] == "done", 10, "it fires at once")
        service.stop(process)
        process = service.up()
        desk.said("add", "soon", "--after", "200ms", "--", *service.work(0))
        wait_for(lambda: desk.json("show", "soon")["status"] == "done", 10, "it fires")
        service.stop(process)

        starts = [line.run for line in service.lines() if line.what == "start"]
        assert starts == ["1-0", "2-0"], "each once"
        shown = desk.json("show", "past")
        assert shown["last_slot"] == "2020-01-01T00:00:00Z"
        assert shown["last_fired_at"] > "2026-01-01T00:00:00Z", "when the slot was planned"
        assert (shown["last_success_run_id"], shown["run_count"]) == ("1-0", 1)
        assert (shown["next_run_at"], shown["last_success_at"] is None) == (None, False)

    @pytest.mark.mission("P10")
    def test_a_start_says_how_many_runs_a_crash_left_behind(self, service: House):
        service.declare({"slow": {"every": "1h", "command": service.work(60), "first_run": "now"}})
        process, desk = service.up(), Desk(service.folder)
        desk.said("add", "paused", "--every", "100ms", "--", "true")
        desk.said("pause", "paused")
        wait_for(lambda: desk.json("runs", "show", "1-0")["state"] == "running", 10, "running")
        process.kill()
        process.wait(10)
        lapsed = f"select 1 from runs where lease_until < {SystemRuntime().now() + 2 * SECOND}"
        wait_for(lambda: service.query(lapsed), 5, "it was held")
        until = service.query("select lease_until from runs where state = 'running'")[0][0]
        wait_for(lambda: SystemRuntime().now() > until, 10, "its lease has lapsed")
        before = desk.json("show", "paused")

        again = service.up()

        assert "recovered runs=1" in service.log()
        assert desk.json("show", "paused") == before, "what rests is left alone"
        wait_for(lambda: desk.json("runs", "show", "1-0")["attempt"] == 2, 10, "it goes on")
        again.kill()

    @pytest.mark.mission("E8")
    def test_the_limits_of_the_file_hold_on_the_command_line(self, service: House):
        service.declare(
            {"one": {"every": "1h", "command": ["true"]}},
            limits={"max_scheduled_jobs": 2, "max_consecutive_errors": 4},
        )
        service.stop(service.up())
        desk = Desk(service.folder)

        answer = desk.json("add", "two", "--every", "1h", "--", "true")

        assert answer["schedule"]["policies"]["max_consecutive_errors"] == 4
        told = desk.refused(1, "add", "three", "--every", "1h", "--", "true")
        assert "max_scheduled_jobs is 2; pause or delete one, or raise the limit" in told
        desk.said("pause", "one")
        desk.said("add", "three", "--every", "1h", "--", "true")
        assert "max_scheduled_jobs" in desk.refused(1, "resume", "one")
