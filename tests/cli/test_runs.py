"""`runs list`, `runs show` and `runs logs`."""

from __future__ import annotations

import pytest

from harness.cli.command_line import CommandLine


def test_list_prints_the_newest_runs_first_for_one_schedule_or_all(used_service: CommandLine):
    everything = used_service.json("runs", "list", "--limit", "500")["items"]
    steady = used_service.json("runs", "list", "steady")["items"]
    failed = used_service.json("runs", "list", "--state", "timed_out")["items"]

    assert [each["number"] for each in steady] == sorted(
        (each["number"] for each in steady), reverse=True
    )
    assert {each["schedule"] for each in everything} == {"steady", "failing", "slow"}
    assert {each["state"] for each in failed} == {"timed_out"}
    assert "exit code 3" in used_service.invoke("runs", "list", "failing").output


@pytest.mark.mission("P12")
def test_a_run_that_timed_out_has_the_limit_in_its_error(used_service: CommandLine):
    run_id = used_service.json("runs", "list", "--state", "timed_out")["items"][0]["id"]

    shown = used_service.json("runs", "show", run_id)

    assert shown["error"] == "timed out after 1 s"


def test_show_includes_earlier_attempts(used_service: CommandLine):
    shown = used_service.json("runs", "show", "2-0")

    assert shown["attempts"][0]["ending"] == "failed"
    assert "earlier attempts" in used_service.invoke("runs", "show", "2-0").output


def test_logs_prints_the_output_unchanged(used_service: CommandLine):
    assert used_service.invoke("runs", "logs", "1-0").output == "hello\n"
    assert used_service.json("runs", "logs", "1-0", "--attempt", "1")["output"] == "hello\n"
    assert "(no output)" in used_service.invoke("runs", "logs", "2-0").output


@pytest.mark.parametrize("which", ["1-999", "x", "1", "1-", "-", "1-2-3"])
@pytest.mark.parametrize("command", ["show", "logs"])
def test_an_unknown_run_is_an_error(used_service: CommandLine, command: str, which: str):
    result = used_service.invoke("runs", command, which)

    assert isinstance(result.exception, SystemExit), "reported, not raised"
    assert (result.exit_code, "there is no run" in result.output) == (1, True)
