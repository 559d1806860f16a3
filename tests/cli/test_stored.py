"""`up`, `list`, `show` and `runs`, as a person and as a program use them, on a real service."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner, Result

from harness.crash.kills import House, wait_for
from quarterjack.app import SystemRuntime
from quarterjack.cli import commands


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A service that has run for a moment."""
    service = House(tmp_path_factory.mktemp("house"))
    service.declare(
        {
            "steady": {"every": "1s", "command": ["sh", "-c", "echo hello"], "name": "Greeting"},
            "failing": {
                "every": "1s",
                "command": ["sh", "-c", "exit 3"],
                "max_retries": 1,
                "retry_delay": "200ms",
            },
            "slow": {"every": "1s", "command": ["sleep", "30"], "timeout": "1s"},
            "nightly": {"cron": "0 3 * * *", "command": ["x"], "description": "a backup"},
        }
    )
    process = service.up()
    wait_for(lambda: service.succeeded() >= 2, 20, "it works")
    wait_for(lambda: service.query("select 1 from runs where state = 'timed_out'"), 20, "a timeout")
    wait_for(lambda: service.query("select 1 from attempts"), 20, "a retry")
    wait_for(lambda: service.query("select 1 from slots_not_run"), 20, "a slot passed over")
    service.stop(process)
    yield service
    service.end()


def run(service: House | None, *arguments: str) -> Result:
    where = [] if service is None else ["--database", f"sqlite:///{service.database}"]
    return CliRunner().invoke(commands, [*arguments, *where], obj=SystemRuntime())


def as_json(service: House, *arguments: str) -> Any:
    result = run(service, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


class TestSchedules:
    def test_are_listed(self, service: House):
        result = run(service, "list")

        assert result.exit_code == 0
        heading, first, *_ = result.output.splitlines()
        assert heading.split() == ["ID", "KEY", "STATUS", "NEXT", "RUN", "LAST", "WHEN"]
        assert first.split()[:3] == ["1", "steady", "active"]
        assert "every day at 03:00" in result.output

    def test_are_shown_whole_by_id_key_or_name(self, service: House):
        by_id, by_key, by_name = (
            as_json(service, "show", each) for each in ("1", "steady", "Greeting")
        )

        assert by_id == by_key == by_name
        assert (by_id["name"], by_id["schedule_type"]) == ("Greeting", "every")
        assert (by_id["interval_ms"], by_id["interval_seconds"]) == (1000, 1.0)
        assert by_id["target"] == {"kind": "command", "command": ["sh", "-c", "echo hello"]}
        assert by_id["run_count"] >= 2
        assert by_id["last_run_at"] is not None
        assert by_id["policies"]["catch_up"] == "run_once"

    def test_every_field_of_the_one_form_is_there(self, service: House):
        shown = as_json(service, "show", "nightly")
        expected = [
            "id",
            "key",
            "name",
            "description",
            "tags",
            "origin",
            "user_uuid",
            "user_profile_id",
            "status",
            "status_reason",
            "enabled",
            "schedule_type",
            "cron_expr",
            "interval_ms",
            "interval_seconds",
            "at",
            "in_words",
            "timezone",
            "target",
            "prompt",
            "model",
            "opts",
            "workflow_id",
            "trigger_node_id",
            "payload",
            "trigger_payload",
            "total_repeats",
            "max_retries",
            "timeout_seconds",
            "delete_after_run",
            "policies",
            "config_hash",
            "version",
            "current_repeat",
            "current_retry",
            "run_count",
            "planned_count",
            "error_count",
            "consecutive_errors",
            "last_error",
            "last_result",
            "next_run_at",
            "next_run",
            "last_run_at",
            "last_run",
            "last_fired_at",
            "last_success_at",
            "last_failure_at",
            "retry_at",
            "last_run_id",
            "last_success_run_id",
            "created_at",
            "created",
            "updated_at",
        ]

        assert set(expected) <= shown.keys()
        assert (shown["cron_expr"], shown["schedule_type"]) == ("0 3 * * *", "cron")
        assert shown["description"] == "a backup"

    def test_slots_that_did_not_run_are_shown_with_their_reason(self, service: House):
        result = run(service, "show", "slow")

        assert "slots that did not run" in result.output
        assert "an earlier run was still open" in result.output
        assert as_json(service, "show", "slow")["slots_not_run"][0]["reason"] == "overlap"

    def test_an_unknown_one_is_told(self, service: House):
        for which in ("nothing", "99", "9" * 30):
            result = run(service, "show", which)
            assert result.exit_code == 1
            assert "there is no schedule" in result.output
            assert "`quarterjack list` shows all" in result.output

    def test_a_specification_that_cannot_be_read_is_still_shown(
        self, service: House, tmp_path: Path
    ):
        copy = House(tmp_path)
        copy.database.write_bytes(service.database.read_bytes())
        apsw.Connection(str(copy.database)).execute(
            "update specifications set body = 'x' where schedule_id = 1"
        )

        assert as_json(copy, "list")["items"][0]["in_words"] == "cannot be read"
        assert as_json(copy, "runs", "list", "1")["items"][0]["payload"] is None


class TestRuns:
    def test_are_listed_newest_first_of_one_schedule_or_of_all(self, service: House):
        everything = as_json(service, "runs", "list", "--limit", "500")["items"]
        steady = as_json(service, "runs", "list", "steady")["items"]
        failed = as_json(service, "runs", "list", "--state", "timed_out")["items"]

        assert [each["number"] for each in steady] == sorted(
            (each["number"] for each in steady), reverse=True
        )
        assert {each["schedule"] for each in everything} == {"steady", "failing", "slow"}
        assert {each["state"] for each in failed} == {"timed_out"}
        assert "exit code 3" in run(service, "runs", "list", "failing").output

    @pytest.mark.mission("P12")
    def test_one_that_took_too_long_says_so(self, service: House):
        run_id = as_json(service, "runs", "list", "--state", "timed_out")["items"][0]["id"]

        shown = as_json(service, "runs", "show", run_id)

        assert shown["error"] == "it took longer than its 1 s"

    def test_one_is_shown_with_its_earlier_attempts(self, service: House):
        shown = as_json(service, "runs", "show", "2-0")

        assert shown["attempts"][0]["ending"] == "failed"
        assert "earlier attempts" in run(service, "runs", "show", "2-0").output

    def test_what_one_put_out_is_printed_as_it_is(self, service: House):
        assert run(service, "runs", "logs", "1-0").output == "hello\n"
        assert as_json(service, "runs", "logs", "1-0", "--attempt", "1")["output"] == "hello\n"
        assert "it has put out nothing" in run(service, "runs", "logs", "2-0").output

    @pytest.mark.parametrize("which", ["1-999", "x", "1", "1-", "-", "1-2-3"])
    @pytest.mark.parametrize("command", ["show", "logs"])
    def test_an_unknown_one_is_told(self, service: House, command: str, which: str):
        result = run(service, "runs", command, which)

        assert isinstance(result.exception, SystemExit), "it is told, not raised"
        assert (result.exit_code, "there is no run" in result.output) == (1, True)


class TestBadLuck:
    def test_no_database(self, tmp_path: Path):
        result = run(None, "list", "--database", f"sqlite:///{tmp_path}/none.db")

        assert result.exit_code == 1
        assert "there is none; start `quarterjack up` once" in result.output
        assert list(tmp_path.iterdir()) == []

    def test_an_empty_store_says_so(self, tmp_path: Path):
        service = House(tmp_path)
        service.declare({})
        service.stop(service.up())

        assert run(service, "list").output == "there are no schedules\n"
        assert run(service, "runs", "list").output == "there are no runs\n"

    def test_an_unknown_command_is_wrong_usage(self):
        assert run(None, "nonsense").exit_code == 2

    def test_a_file_that_cannot_be_used_ends_with_2_and_makes_no_database(self, tmp_path: Path):
        file = tmp_path / "q.yaml"
        file.write_text("schedules: {a: {every: 1h}}")
        result = subprocess.run(
            [sys.executable, "-m", "quarterjack.app", "up", str(file)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

        assert result.returncode == 2
        assert 'schedule "a": target {} names nothing to do' in result.stderr
        assert [each.name for each in tmp_path.iterdir()] == ["q.yaml"]


class TestUp:
    def test_says_whether_it_lives_and_is_ready(self, tmp_path: Path):
        service = House(tmp_path)
        process = service.up()
        try:
            assert service.caller("/healthz")[:2] == (200, {"status": "ok"})
            assert service.caller("/readyz")[:2] == (200, {"status": "ok"})
            assert service.caller("/other")[0] == 404
            service.stop(process)
        finally:
            service.end()

    def test_a_port_that_is_taken_changes_nothing(self, tmp_path: Path):
        service = House(tmp_path)
        process = service.up()
        try:
            line = [line for line in service.log().splitlines() if " up " in line][-1]
            port = line.rpartition(":")[2]
            service.declare({})
            second = subprocess.run(
                [sys.executable, "-m", "quarterjack.app", "up", "quarterjack.yaml", "--port", port],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=30,
            )
            assert second.returncode == 1
            assert "cannot be listened on" in second.stderr
            assert service.query("select count(*) from schedules where deleted_at is null") == [
                (4,)
            ]
            service.stop(process)
        finally:
            service.end()

    def test_what_the_command_line_says_goes_before_the_file(self, tmp_path: Path):
        class Caught(SystemRuntime):
            def up(self, *what: Any, **options: Any) -> None:
                self.said = (*what, options)

        file, world = tmp_path / "q.yaml", Caught()
        file.write_text("workers: 3\ndatabase: sqlite:///file.db\nschedules: {}\n")
        arguments = ["up", str(file), "--workers", "7", "--database", "sqlite:///other.db"]
        result = CliRunner().invoke(commands, arguments, obj=world)

        declaration, database, options = world.said
        assert (result.exit_code, declaration.settings.workers) == (0, 7)
        assert (database, options["port"]) == ("sqlite:///other.db", 7415)
