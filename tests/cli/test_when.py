"""`quarterjack next` and `quarterjack explain`, as a person and as a program use them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from harness.times.at import us
from quarterjack.cli import commands

NEW_YORK = "America/New_York"


class FixedClock:
    """It is always 16 November 2026, 09:00."""

    def now(self) -> int:
        return us("2026-11-16T09:00Z")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, obj=FixedClock(), prog_name="quarterjack")


def as_json(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_next_prints_the_words_and_the_instants():
    result = run("next", "0 9 * * 1-5", "--count", "3")

    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "Monday to Friday at 09:00",
        "  Tue 2026-11-17 09:00:00 +00:00",
        "  Wed 2026-11-18 09:00:00 +00:00",
        "  Thu 2026-11-19 09:00:00 +00:00",
    ]


def test_in_a_zone_both_its_clocks_and_utc_are_shown():
    result = run("next", "30 2 * * *", "--timezone", "Asia/Kolkata", "--count", "1")

    assert result.output.splitlines() == [
        "every day at 02:30 (Asia/Kolkata)",
        "  Tue 2026-11-17 02:30:00 +05:30   2026-11-16T21:00:00Z",
    ]


def test_west_of_greenwich_the_offset_is_negative_and_fractions_are_shown():
    result = run("next", "1500ms", "--timezone", "America/St_Johns", "--count", "1")

    assert result.output.splitlines()[1] == (
        "  Mon 2026-11-16 05:30:01.500 -03:30   2026-11-16T09:00:01.500000Z"
    )


def test_next_as_json_is_what_programs_rely_on():
    said = as_json("next", "0 9 * * *", "--timezone", NEW_YORK, "--count", "2")

    assert said == {
        "recurrence": {
            "cron": "0 9 * * *",
            "timezone": NEW_YORK,
            "dst_gap": "after",
            "dst_fold": "once",
        },
        "in_words": "every day at 09:00 (America/New_York)",
        "next": ["2026-11-16T14:00:00Z", "2026-11-17T14:00:00Z"],
    }


def test_five_instants_are_shown_unless_one_says_otherwise():
    assert len(as_json("next", "* * * * *")["next"]) == 5


def test_a_recurrence_on_its_own_is_anchored_at_after():
    said = as_json("next", "90m", "--after", "2025-01-01T00:10:00Z", "--count", "2")

    assert said["next"] == ["2025-01-01T01:40:00Z", "2025-01-01T03:10:00Z"]


def test_until_ends_the_list_and_still_belongs_to_it():
    said = as_json("next", "0 * * * *", "--until", "2026-11-16T11:00:00Z")

    assert said["next"] == ["2026-11-16T10:00:00Z", "2026-11-16T11:00:00Z"]


def test_an_instant_that_is_over_has_no_next():
    assert run("next", "2020-01-01T00:00:00Z").output.splitlines() == [
        "once at 2020-01-01T00:00:00Z",
        "no slot in that time",
    ]


def test_the_last_evening_of_the_year_9999_is_shown_in_utc():
    result = run("next", "1h", "--after", "9999-12-31T22:30:00Z", "--timezone", "Asia/Tokyo")

    assert result.output.splitlines()[1] == "  9999-12-31T23:30:00Z   9999-12-31T23:30:00Z"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--dst-gap", "skip"], "2027-03-15T06:30:00Z"),
        (["--dst-gap", "after"], "2027-03-14T07:00:00Z"),
        ([], "2027-03-14T07:00:00Z"),
    ],
)
def test_the_words_for_daylight_saving_can_be_tried(words: list[str], expected: str):
    said = as_json(
        "next", "30 2 * * *", "--timezone", NEW_YORK, "--after", "2027-03-13T12:00:00Z", *words
    )

    assert said["next"][0] == expected


def test_folds_seconds_dialects_and_keys_can_be_tried():
    fold = ["--timezone", NEW_YORK, "--after", "2027-11-07T00:00:00Z", "--dst-fold", "twice"]

    assert as_json("next", "30 1 * * *", *fold)["next"][:2] == [
        "2027-11-07T05:30:00Z",
        "2027-11-07T06:30:00Z",
    ]
    assert as_json("next", "30 * * * * *", "--seconds")["next"][0] == "2026-11-16T09:00:30Z"
    assert as_json("next", "0 9 * * *", "--dialect", "posix")["recurrence"]["dialect"] == "posix"
    assert as_json("next", "H 9 * * *", "--key", "a")["next"]


def test_an_instant_is_shown_in_the_zone_too_and_a_wrong_zone_is_told():
    shown = run("next", "2027-11-16T09:00:00Z", "--timezone", "Europe/Berlin").output.splitlines()

    assert shown[1] == "  Tue 2027-11-16 10:00:00 +01:00   2027-11-16T09:00:00Z"
    assert run("next", "2027-11-16T09:00:00Z", "--timezone", "Bogus").exit_code == 2


def test_offsets_of_odd_seconds_and_early_years_are_shown_as_they_are():
    arguments = ["next", "0 9 * * *", "--after", "0999-01-01T00:00:00Z", "--timezone", NEW_YORK]

    assert run(*arguments).output.splitlines()[1] == (
        "  Tue 0999-01-01 09:00:00 -04:56:02   0999-01-01T13:56:02Z"
    )


@pytest.mark.parametrize(("wish", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_for_terminals_whose_user_wants_it(wish: dict[str, str], coloured: bool):
    """A real terminal, made by a pseudo-terminal."""
    script = Path(sys.executable).with_name("quarterjack")
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm", **wish}
    process = subprocess.Popen([script, "next", "bad"], stdout=theirs, stderr=theirs,
                               env=environment)  # fmt: skip
    process.wait(timeout=30)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)

    assert 'error: recurrence "bad" is not understood' in shown
    assert ("\x1b[31m" in shown) is coloured


def test_explain_tells_words_fields_instants_and_warnings():
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
        "! day of month and day of week are both given, so a day that fits either one fires",
    ]


def test_explain_as_json():
    said = as_json("explain", "30 2 * * *", "--timezone", NEW_YORK)

    assert list(said) == ["recurrence", "in_words", "fields", "next", "warnings"]
    assert said["fields"][1] == {"name": "hour", "text": "2", "says": "hour 2"}
    assert len(said["next"]) == 5
    assert len(said["warnings"]) == 1


def test_explain_an_interval_which_has_no_fields():
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
def test_a_wrong_expression_is_told_on_standard_error_and_ends_with_2(
    arguments: list[str], message: str
):
    result = run("next", *arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"error: {message}" in result.stderr


def test_a_count_out_of_bounds_is_wrong_usage():
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
