"""`add` and `edit`."""

from __future__ import annotations

import json

import pytest

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService
from quarterjack.cli.runtime import Runtime


def test_add_creates_the_database_and_prints_the_next_run(cli: CommandLine):
    output = cli.output("add", "nightly", "--cron", "0 3 * * *", "--", "pg_dump", "app")

    assert output.startswith("added: 1 nightly; next run ")
    shown = cli.json("show", "nightly")
    assert shown["target"] == {"kind": "command", "command": ["pg_dump", "app"]}
    assert (shown["origin"], shown["user_uuid"]) == ("cli", Runtime().user)


def test_add_as_json_is_the_answer_of_the_api(cli: CommandLine):
    answer = cli.json(
        "add", "a", "--every", "5m", "--payload", '{"n": 1}', "--set", "max_retries=3",
        "--set", 'tags=["x"]', "--", "true",
    )  # fmt: skip

    assert (answer["status"], answer["id"]) == ("ok", 1)
    assert answer["next_run"] == answer["schedule"]["next_run"]
    assert answer["schedule"]["payload"] == {"n": 1}
    assert (answer["schedule"]["max_retries"], answer["schedule"]["tags"]) == (3, ["x"])


def test_everything_after_two_dashes_is_the_command(cli: CommandLine):
    cli.output("add", "--every", "1h", "--", "echo", "--hi", "--")

    shown = cli.json("show", "schedule-1")

    assert shown["target"]["command"] == ["echo", "--hi", "--"]
    assert "[-- COMMAND...]" in cli.output("add", "--help")


def test_add_from_a_file_adds_all_schedules_or_none(cli: CommandLine):
    one, other = {"key": "a", "every": "1h", "command": ["true"]}, {"every": "0h"}
    cli.output("add", "--from", "-", stdin=json.dumps([one]))
    lines = "\n".join(json.dumps({**one, "key": key}) for key in "bcd")
    assert len(cli.json("add", "--from", "-", stdin=lines)["items"]) == 3

    result = cli.invoke("add", "--from", "-", stdin=json.dumps([{**one, "key": "e"}, other]))

    assert (result.exit_code, "number 2" in result.output) == (2, True)
    assert [each["key"] for each in cli.json("list")["items"]] == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", '-:1: "nonsense" is not valid JSON'),
        ("[3]", "number 1: 3 is not an object"),
        ('{"every": "1h"}\n\n{', '-:3: "{" is not valid JSON'),
        ('[\n{"every": }]', "line 2 column 11"),
        pytest.param("[" * 60_000, "is not valid JSON", id="deeply nested"),
        ("\n\n", "no schedules in the file"),
    ],
)
def test_an_invalid_file_is_an_error_that_names_the_line(cli: CommandLine, text: str, message: str):
    result = cli.invoke("add", "--from", "-", stdin=text)
    assert (result.exit_code, message.replace("-:", "<stdin>:") in result.output) == (2, True)


def test_usage_errors(cli: CommandLine):
    cli.output("add", "a", "--every", "1h", "--", "true")
    assert "FIELD=VALUE" in cli.error(2, "add", "b", "--set", "x", "--", "true")
    assert "given twice" in cli.error(2, "add", "b", "--cron", "@daily", "--set", "cron=x")
    assert "as an argument" in cli.error(2, "add", "b", "--set", "key=c", "--", "true")
    assert "is also set" in cli.error(2, "edit", "a", "--name", "x", "--unset", "name")
    assert "is not valid JSON" in cli.error(2, "add", "b", "--payload", "{bad", "--", "true")
    assert "unexpected extra" in cli.error(2, "edit", "a", "cron", "0 4 * * *")
    assert "no schedule" in cli.error(1, "rm", "\udcff")
    assert "contains U+DCFF" in cli.error(2, "pause", "a", "--reason", "\udcff")
    assert "nothing to change" in cli.error(2, "edit", "a")
    result = cli.invoke("add", "b", "--from", "-", stdin="[]")
    assert (result.exit_code, "--from cannot be combined" in result.output) == (2, True)
    cli.database.unlink()
    assert "not found" in cli.error(1, "pause", "a")


@pytest.mark.mission("P11")
def test_repeat_count_and_retry_max_are_accepted(cli: CommandLine):
    cli.output(
        "add", "a", "--every", "1h", "--set", "repeat_count=3", "--set", "retry_max=7",
        "--", "true",
    )  # fmt: skip
    shown = cli.json("show", "a")
    assert (shown["total_repeats"], shown["max_retries"]) == (3, 7)

    shown = cli.json("edit", "a", "--set", "repeat_count=4")

    assert (shown["total_repeats"], shown["max_retries"]) == (4, 7)


def test_edit_changes_only_the_given_fields(cli: CommandLine):
    cli.output("add", "a", "--every", "1h", "--set", "max_retries=3", "--", "true")

    assert "edited, now version 2: 1 a" in cli.output("edit", "a", "--every", "2h")
    shown = cli.json("edit", "a", "--unset", "max_retries", "--", "false")

    assert (shown["interval_seconds"], shown["max_retries"], shown["version"]) == (7200, 0, 3)
    assert shown["target"]["command"] == ["false"]
    error = cli.error(1, "edit", "a", "--every", "3h", "--version", "2")
    assert "is at version 3, not 2" in error


@pytest.mark.mission("E8")
def test_the_limits_of_the_service_apply_to_the_command_line(service: RealService):
    service.declare(
        {"one": {"every": "1h", "command": ["true"]}},
        limits={"max_scheduled_jobs": 2, "max_consecutive_errors": 4},
    )
    service.stop(service.up())
    cli = CommandLine(service.folder)

    answer = cli.json("add", "two", "--every", "1h", "--", "true")

    assert answer["schedule"]["policies"]["max_consecutive_errors"] == 4
    error = cli.error(1, "add", "three", "--every", "1h", "--", "true")
    assert "max_scheduled_jobs is 2; pause or delete one, or raise the limit" in error
    cli.output("pause", "one")
    cli.output("add", "three", "--every", "1h", "--", "true")
    assert "max_scheduled_jobs" in cli.error(1, "resume", "one")
