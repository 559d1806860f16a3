"""`list`, `show`, `audit` and `nodes`."""

from __future__ import annotations

from pathlib import Path

import apsw

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService
from quarterjack.cli.runtime import Runtime

FIELDS = {
    "id", "key", "name", "description", "tags", "origin", "user_uuid", "user_profile_id",
    "status", "status_reason", "enabled", "schedule_type", "cron_expr", "interval_ms",
    "interval_seconds", "at", "in_words", "timezone", "target", "prompt", "model", "opts",
    "workflow_id", "trigger_node_id", "payload", "trigger_payload", "total_repeats",
    "max_retries", "timeout_seconds", "delete_after_run", "policies", "config_hash",
    "version", "current_repeat", "current_retry", "run_count", "planned_count", "error_count",
    "consecutive_errors", "last_error", "last_result", "next_run_at", "next_run",
    "last_run_at", "last_run", "last_fired_at", "last_success_at", "last_failure_at",
    "retry_at", "last_run_id", "last_success_run_id", "created_at", "created", "updated_at",
}  # fmt: skip


def test_list_prints_a_line_for_each_schedule(used_service: CommandLine):
    result = used_service.invoke("list")

    assert result.exit_code == 0
    heading, first, *_ = result.output.splitlines()
    assert heading.split() == ["ID", "KEY", "STATUS", "NEXT", "RUN", "LAST", "WHEN"]
    assert first.split()[:3] == ["1", "steady", "active"]
    assert "every day at 03:00" in result.output


def test_show_finds_a_schedule_by_id_key_or_name(used_service: CommandLine):
    by_id, by_key, by_name = (
        used_service.json("show", each) for each in ("1", "steady", "Greeting")
    )

    assert by_id == by_key == by_name
    assert (by_id["name"], by_id["schedule_type"]) == ("Greeting", "every")
    assert (by_id["interval_ms"], by_id["interval_seconds"]) == (1000, 1.0)
    assert by_id["target"] == {"kind": "command", "command": ["sh", "-c", "echo hello"]}
    assert by_id["run_count"] >= 2
    assert by_id["last_run_at"] is not None
    assert by_id["policies"]["catch_up"] == "run_once"


def test_show_as_json_has_every_field_of_the_canonical_form(used_service: CommandLine):
    shown = used_service.json("show", "nightly")
    assert shown.keys() >= FIELDS
    assert (shown["cron_expr"], shown["schedule_type"]) == ("0 3 * * *", "cron")
    assert shown["description"] == "a backup"


def test_show_lists_slots_that_did_not_run_with_their_reason(used_service: CommandLine):
    result = used_service.invoke("show", "slow")

    assert "slots that did not run" in result.output
    assert "an earlier run was still open" in result.output
    assert used_service.json("show", "slow")["slots_not_run"][0]["reason"] == "overlap"


def test_an_unknown_schedule_is_an_error(used_service: CommandLine):
    for which in ("nothing", "99", "9" * 30):
        result = used_service.invoke("show", which)
        assert result.exit_code == 1
        assert "there is no schedule" in result.output
        assert "`quarterjack list` shows all" in result.output


def test_a_schedule_whose_definition_is_damaged_is_still_shown(
    used_service: CommandLine, tmp_path: Path
):
    copy = CommandLine(tmp_path)
    copy.database.write_bytes(used_service.database.read_bytes())
    apsw.Connection(str(copy.database)).execute(
        "update specifications set body = 'x' where schedule_id = 1"
    )

    assert copy.json("list")["items"][0]["in_words"] == "cannot be read"
    assert copy.json("runs", "list", "1")["items"][0]["payload"] is None


def test_audit_shows_who_changed_what(cli: CommandLine):
    cli.output("add", "a", "--every", "1h", "--", "true")
    cli.output("add", "b", "--every", "1h", "--", "true")
    cli.output("pause", "a", "--reason", "repairs")

    assert "status: active -> paused, status_reason: None -> repairs" in cli.output("audit", "a")
    items = cli.json("audit")["items"]
    assert [(row["verb"], row["schedule_id"], row["origin"]) for row in items] == [
        ("pause", 1, "cli"),
        ("create", 2, "cli"),
        ("create", 1, "cli"),
    ]
    assert {row["by"] for row in items} == {Runtime().user}
    assert len(cli.json("audit", "--before", "3", "--limit", "1")["items"]) == 1
    assert "no audit entries" in cli.output("audit", "--before", "0")


def test_audit_and_show_include_deleted_schedules(cli: CommandLine):
    cli.output("add", "a", "--every", "1h", "--", "true")
    cli.output("rm", "a")

    assert "deleted a" in cli.output("audit", "a")
    assert cli.json("show", "1")["deleted_at"] is not None
    assert "no schedule" in cli.error(1, "pause", "a")


def test_an_empty_database_has_nothing_to_list(cli: CommandLine):
    cli.output("add", "a", "--every", "1h", "--", "true")
    cli.output("rm", "a")

    assert cli.output("list") == "no schedules\n"
    assert cli.output("runs", "list") == "no runs\n"
    assert cli.output("nodes") == "no nodes; start one with `quarterjack up FILE`\n"


def test_nodes_lists_the_processes_of_a_running_service(service: RealService):
    process, cli = service.up(), CommandLine(service.folder)

    heading, node = cli.output("nodes").splitlines()
    service.stop(process)

    assert heading.split()[:4] == ["NAME", "ROLE", "STARTED", "LAST"]
    assert "scheduler, worker" in node
    assert cli.json("nodes")["items"] == []
