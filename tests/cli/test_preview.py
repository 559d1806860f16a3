"""`next` and `explain`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner, Result

from harness.cli.command_line import CommandLine
from harness.times.at import us
from quarterjack.cli import commands

NEW_YORK = "America/New_York"


class FixedClock:
    """Always 16 November 2026, 09:00 UTC."""

    environment: ClassVar[dict[str, str]] = {}

    def now(self) -> int:
        return us("2026-11-16T09:00Z")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, obj=FixedClock(), prog_name="quarterjack")


def as_json(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_next_prints_the_description_and_the_instants():
    result = run("next", "0 9 * * 1-5", "--count", "3")

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "Monday to Friday at 09:00",
        "  Tue 2026-11-17 09:00:00 +00:00",
        "  Wed 2026-11-18 09:00:00 +00:00",
        "  Thu 2026-11-19 09:00:00 +00:00",
    ]


def test_in_a_zone_local_time_and_utc_are_printed():
    result = run("next", "30 2 * * *", "--timezone", "Asia/Kolkata", "--count", "1")

    assert result.output.splitlines() == [
        "every day at 02:30 (Asia/Kolkata)",
        "  Tue 2026-11-17 02:30:00 +05:30   2026-11-16T21:00:00Z",
    ]


def test_negative_offsets_and_fractions_of_a_second_are_printed():
    result = run("next", "1500ms", "--timezone", "America/St_Johns", "--count", "1")

    assert result.output.splitlines()[1] == (
        "  Mon 2026-11-16 05:30:01.500 -03:30   2026-11-16T09:00:01.500000Z"
    )


def test_next_as_json():
    answer = as_json("next", "0 9 * * *", "--timezone", NEW_YORK, "--count", "2")

    assert answer == {
        "recurrence": {
            "cron": "0 9 * * *",
            "timezone": NEW_YORK,
            "dst_gap": "after",
            "dst_fold": "once",
        },
        "in_words": "every day at 09:00 (America/New_York)",
        "next": ["2026-11-16T14:00:00Z", "2026-11-17T14:00:00Z"],
    }


def test_the_default_count_is_five():
    assert len(as_json("next", "* * * * *")["next"]) == 5


def test_an_interval_counts_from_after():
    answer = as_json("next", "90m", "--after", "2025-01-01T00:10:00Z", "--count", "2")

    assert answer["next"] == ["2025-01-01T01:40:00Z", "2025-01-01T03:10:00Z"]


def test_until_is_inclusive():
    answer = as_json("next", "0 * * * *", "--until", "2026-11-16T11:00:00Z")

    assert answer["next"] == ["2026-11-16T10:00:00Z", "2026-11-16T11:00:00Z"]


def test_a_past_instant_has_no_next():
    assert run("next", "2020-01-01T00:00:00Z").output.splitlines() == [
        "once at 2020-01-01T00:00:00Z",
        "no slots",
    ]


def test_the_last_evening_of_the_year_9999_is_shown_in_utc():
    result = run("next", "1h", "--after", "9999-12-31T22:30:00Z", "--timezone", "Asia/Tokyo")

    assert result.output.splitlines()[1] == "  9999-12-31T23:30:00Z   9999-12-31T23:30:00Z"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--dst-gap", "skip"], "2027-03-15T06:30:00Z"),
        (["--dst-gap", "after"], "2027-03-14T07:00:00Z"),
        ([], "2027-03-14T07:00:00Z"),
    ],
)
def test_dst_gap_chooses_what_happens_to_missing_wall_times(options: list[str], expected: str):
    answer = as_json(
        "next", "30 2 * * *", "--timezone", NEW_YORK, "--after", "2027-03-13T12:00:00Z", *options
    )

    assert answer["next"][0] == expected


def test_dst_fold_seconds_dialect_and_key():
    fold = ["--timezone", NEW_YORK, "--after", "2027-11-07T00:00:00Z", "--dst-fold", "twice"]

    assert as_json("next", "30 1 * * *", *fold)["next"][:2] == [
        "2027-11-07T05:30:00Z",
        "2027-11-07T06:30:00Z",
    ]
    assert as_json("next", "30 * * * * *", "--seconds")["next"][0] == "2026-11-16T09:00:30Z"
    assert as_json("next", "0 9 * * *", "--dialect", "posix")["recurrence"]["dialect"] == "posix"
    assert as_json("next", "H 9 * * *", "--key", "a")["next"]


def test_an_instant_is_printed_in_the_zone_and_a_wrong_zone_is_an_error():
    shown = run("next", "2027-11-16T09:00:00Z", "--timezone", "Europe/Berlin").output.splitlines()

    assert shown[1] == "  Tue 2027-11-16 10:00:00 +01:00   2027-11-16T09:00:00Z"
    assert run("next", "2027-11-16T09:00:00Z", "--timezone", "Bogus").exit_code == 2


def test_early_years_have_offsets_with_seconds():
    arguments = ["next", "0 9 * * *", "--after", "0999-01-01T00:00:00Z", "--timezone", NEW_YORK]

    assert run(*arguments).output.splitlines()[1] == (
        "  Tue 0999-01-01 09:00:00 -04:56:02   0999-01-01T13:56:02Z"
    )


def test_explain_prints_description_fields_instants_and_warnings():
    result = run("explain", "30 2 1 * 1-5", "--timezone", NEW_YORK)

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "on day 1 of the month or Monday to Friday at 02:30 (America/New_York)",
        "",
        "  minute         30    minute 30",
        "  hour           2     hour 2",
        "  day of month   1     day 1",
        "  month          *     every month",
        "  day of week    1-5   Monday to Friday",
        "",
        "  Tue 2026-11-17 02:30:00 -05:00   2026-11-17T07:30:00Z",
        "  Wed 2026-11-18 02:30:00 -05:00   2026-11-18T07:30:00Z",
        "  Thu 2026-11-19 02:30:00 -05:00   2026-11-19T07:30:00Z",
        "  Fri 2026-11-20 02:30:00 -05:00   2026-11-20T07:30:00Z",
        "  Mon 2026-11-23 02:30:00 -05:00   2026-11-23T07:30:00Z",
        "",
        "! day of month and day of week are both set: it fires on days that match either one",
    ]


def test_explain_as_json():
    answer = as_json("explain", "30 2 * * *", "--timezone", NEW_YORK)

    assert list(answer) == ["recurrence", "in_words", "fields", "next", "warnings"]
    assert answer["fields"][1] == {"name": "hour", "text": "2", "says": "hour 2"}
    assert len(answer["next"]) == 5
    assert len(answer["warnings"]) == 1


def test_explain_of_an_interval_has_no_fields():
    assert run("explain", "5m").output.splitlines()[:3] == [
        "every 5 minutes",
        "",
        "  Mon 2026-11-16 09:05:00 +00:00",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0 25 * * *"], 'cron "0 25 * * *": hour 25 is outside 0-23; did you mean "25 0 * * *"?'),
        (["5m", "--after", "yesterday"], 'after "yesterday" is not RFC 3339'),
        (["5m", "--until", "x"], 'until "x" is not RFC 3339'),
        (
            ["5m", "--timezone", "Berlin"],
            'timezone "Berlin" is unknown; did you mean "Europe/Berlin"?',
        ),
        (["H * * * *"], 'cron "H * * * *" has H, which needs the schedule\'s key'),
    ],
)
def test_an_invalid_expression_is_an_error_with_exit_code_2(arguments: list[str], message: str):
    result = run("next", *arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"error: {message}" in result.stderr


def test_a_count_out_of_bounds_is_a_usage_error():
    assert run("next", "5m", "--count", "0").exit_code == 2
    assert run("next", "5m", "--count", "100001").exit_code == 2


def test_the_console_script_runs_with_the_real_clock():
    script = Path(sys.executable).with_name("quarterjack")

    result = subprocess.run(
        [script, "next", "1h", "--json"], capture_output=True, text=True, check=True
    )

    assert len(json.loads(result.stdout)["next"]) == 5


def test_version_and_help():
    assert run("--version").output.startswith("quarterjack, version ")
    assert "explain" in run("-h").output


@pytest.fixture
def invoices(cli: CommandLine) -> CommandLine:
    options = ["--set", 'not_on=["saturday","sunday"]', "--set", "on_constraint=next_day"]
    cli.output("add", "invoices", "--cron", "0 9 1 * *", *options, "--", "true")
    return cli


def test_next_and_explain_take_the_key_of_a_schedule(invoices: CommandLine):
    arguments = ("invoices", "--after", "2026-07-20T00:00:00Z", "--count", "2")

    assert invoices.output("next", *arguments).splitlines() == [
        "on day 1 of every month at 09:00",
        "  Sat 2026-08-01 09:00:00 +00:00",
        "  Tue 2026-09-01 09:00:00 +00:00",
    ]
    assert "not_on saturday, sunday holds (on_constraint: next_day); see quarterjack next " in (
        invoices.output("explain", "invoices")
    )
    answer = invoices.json("next", *arguments)
    assert (answer["schedule"], answer["next"][0]) == ("invoices", "2026-08-01T09:00:00Z")


def test_effective_says_when_the_run_of_each_slot_becomes_ready(invoices: CommandLine):
    arguments = ("--after", "2026-07-20T00:00:00Z", "--count", "2", "--effective")

    assert invoices.output("next", "invoices", *arguments).splitlines()[1:] == [
        "  Sat 2026-08-01 09:00:00 +00:00   ready at Mon 2026-08-03 09:00:00 +00:00",
        "  Tue 2026-09-01 09:00:00 +00:00   on time",
    ]
    assert invoices.json("next", "invoices", *arguments)["effective"][0] == {
        "slot": "2026-08-01T09:00:00Z", "ready_at": "2026-08-03T09:00:00Z", "reason": None,
    }  # fmt: skip
    invoices.output("edit", "invoices", "--set", "on_constraint=drop")
    assert "does not run: not_on" in invoices.output("next", "invoices", *arguments)
    assert "EXPR is no schedule" in invoices.error(2, "next", "5m", "--effective")


def test_a_key_that_is_in_no_database_is_read_as_words(cli: CommandLine):
    message = 'error: schedule "nightly" is not'

    assert message in cli.error(2, "next", "nightly")
    assert not cli.database.exists()
    cli.output("add", "other", "--every", "1h", "--", "true")
    assert message in cli.error(2, "next", "nightly")


@pytest.mark.mission("E10")
def test_words_are_taken_by_add_edit_next_and_explain(cli: CommandLine):
    added = cli.json("add", "a", "--schedule", "every monday at 9am and 12:30pm", "--", "true")
    assert added["schedule"]["cron_expr"] == ["0 9 * * 1", "30 12 * * 1"]
    assert added["schedule"]["in_words"] == "every Monday at 09:00 and 12:30"

    cli.output("edit", "a", "--schedule", "in 2 hours")
    assert cli.json("show", "a")["schedule_type"] == "after"
    assert 'timezone "X" is unknown' in cli.error(
        2, "next", "every monday at 9am", "--timezone", "X"
    )
    explained = as_json("explain", "every day at 9am and 12:30pm")
    assert [row["text"] for row in explained["fields"] if row["name"] == "hour"] == ["9", "12"]
    assert "friday" in run("next", "every friday noonish").stderr.lower()
