"""`runs list`, `runs show` and `runs logs`."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli.command_line import CommandLine
from harness.store.shortcuts import started
from harness.store.stores import open_client
from quarterjack.store.types import Progress
from quarterjack.times.instants import SECOND


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


def test_show_has_the_progress_of_the_run_and_of_earlier_attempts(cli: CommandLine, tmp_path: Path):
    with open_client("SQLite", tmp_path) as client:
        run = started(client, max_retries=1, retry_delay="1s")
        for attempt, fraction, text in [(1, 0.4, "north\x1b"), (2, 0.75, "south")]:
            progress = Progress(run.schedule_id, 0, attempt, client.now, fraction, text)
            client(client.store.add_output((), (), [progress]))
        client.settle((run, client.outcome("failed", error="boom")))
        client.clock.instant += SECOND
        client.claim()

    shown = cli.output("runs", "show", run.id)

    assert "fraction: 0.75, text: south, at: 2026-11-16T" in shown
    assert "boom   40% north\\x1b\n" in shown


def test_logs_prints_the_output_unchanged(used_service: CommandLine):
    assert used_service.invoke("runs", "logs", "1-0").output == "hello\n"
    assert used_service.json("runs", "logs", "1-0", "--attempt", "1")["output"] == "hello\n"
    assert "(no output)" in used_service.invoke("runs", "logs", "2-0").output


def test_logs_as_json_has_lines_with_their_times(used_service: CommandLine):
    (line,) = used_service.json("runs", "logs", "1-0")["lines"]

    assert (line["attempt"], line["level"], line["text"]) == (1, None, "hello")
    assert line["at"].startswith("20")


def test_logs_can_follow_a_run_that_has_ended(used_service: CommandLine):
    assert used_service.output("runs", "logs", "1-0", "--follow") == "hello\n"
    assert used_service.output("runs", "logs", "1-0", "-f", "--attempt", "1") == "hello\n"
    assert "(no output)" in used_service.output("runs", "logs", "2-0", "-f")
    assert "leave out one" in used_service.error(2, "runs", "logs", "1-0", "-f", "--json")


@pytest.mark.parametrize("which", ["1-999", "x", "1", "1-", "-", "1-2-3"])
@pytest.mark.parametrize("command", ["show", "logs"])
def test_an_unknown_run_is_an_error(used_service: CommandLine, command: str, which: str):
    result = used_service.invoke("runs", command, which)

    assert isinstance(result.exception, SystemExit), "reported, not raised"
    assert (result.exit_code, "there is no run" in result.output) == (1, True)
