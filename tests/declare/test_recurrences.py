"""What people write for a time means the same in `next`, in a configuration file and in Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.command_line import FixedRuntime
from quarterjack import (
    After,
    At,
    Cron,
    Daily,
    Every,
    Hourly,
    Monthly,
    Quarterjack,
    Recurrence,
    Weekday,
    Weekly,
)  # fmt: skip
from quarterjack.cli import commands
from quarterjack.declare.declaration import Declaration
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import ServiceSettings
from quarterjack.rules.definition.specification import Specification
from quarterjack.targets.kinds import KINDS
from quarterjack.times import slots_between
from quarterjack.times.instants import LATEST, read_instant, to_text

NOW = read_instant("2026-11-16T09:10:00Z", "now")  # a Monday
BERLIN = "Europe/Berlin"


def by_next(text: str, timezone: str) -> list[str]:
    arguments = ["next", text, "--timezone", timezone, "--count", "3", "--json"]
    result = CliRunner().invoke(commands, arguments, obj=FixedRuntime(NOW))
    assert result.exit_code == 0, result.output
    return [slot.removeprefix("2026-") for slot in json.loads(result.stdout)["next"]]


def slots_of(specification: Specification) -> list[str]:
    slots = slots_between(specification.recurrence.slots_from(NOW), NOW, LATEST)
    return [to_text(slot).removeprefix("2026-") for slot in islice(slots, 3)]


def in_yaml(declared: Callable[[str], Declaration], fields: dict[str, Any]) -> list[str]:
    schedules = {"a": {"command": ["true"], **fields}}
    return slots_of(declared(json.dumps({"schedules": schedules})).specifications["a"])


def in_python(when: Any, **fields: Any) -> list[str]:
    app = Quarterjack()
    app.schedule("a", app.task("work")(_work), when, **fields)
    return slots_of(app.declaration().specifications["a"])


def _work() -> None: ...


HOURS = ["11-16T10:10:00Z", "11-16T11:10:00Z", "11-16T12:10:00Z"]
MORNINGS = ["11-17T08:00:00Z", "11-18T08:00:00Z", "11-19T08:00:00Z"]
MONDAYS = ["11-23T08:00:00Z", "11-30T08:00:00Z", "12-07T08:00:00Z"]


@pytest.mark.mission("D4", "D5", "H2", "H9", "E10")
@pytest.mark.parametrize(
    ("texts", "values", "expected"),
    [
        (["1h", "hourly", "60min", "1 hour", "PT1H", "every hour", "every 60 minutes"],
         [Every("1h"), Every(hours=1)], HOURS),
        (["0 9 * * *", "CRON_TZ=Europe/Berlin 0 9 * * *", "every day at 9am", "daily at 09:00",
          "every day at 9 am", "0 9 * January-December SUN-SAT", "\n0 9 * * MON-SUN\n"],
         [Cron("0 9 * * *"), Daily("09:00")], MORNINGS),
        (["0 9 * * Monday", "every monday at 9am", "mondays at 09:00", "weekly on monday at 9 am"],
         [Cron("0 9 * * 1"), Weekly([Weekday.MONDAY], "09:00")], MONDAYS),
        (["at minute 30 of every hour", "30 * * * *"], [Hourly(30)],
         ["11-16T09:30:00Z", "11-16T10:30:00Z", "11-16T11:30:00Z"]),
        (["on the 16th of every month at 09:00", "0 9 16 * *"], [Monthly(16, "09:00")],
         ["12-16T08:00:00Z", "2027-01-16T08:00:00Z", "2027-02-16T08:00:00Z"]),
        (["every day at 9am and 12:30pm"],
         [Cron(["0 9 * * *", "30 12 * * *"]), Cron("0 9 * * *") | Cron("30 12 * * *")],
         ["11-16T11:30:00Z", "11-17T08:00:00Z", "11-17T11:30:00Z"]),
        (["in 2 hours"], [After("2h"), After("2 hours")], ["11-16T11:10:00Z"]),
        (["2026-12-01T09:00:00+01:00", "2026-12-01 at 9am"], [At("2026-12-01T08:00:00Z")],
         ["12-01T08:00:00Z"]),
    ],
)  # fmt: skip
def test_all_spellings_mean_the_same_everywhere(
    declared: Callable[[str], Declaration],
    texts: list[str],
    values: list[Recurrence],
    expected: list[str],
):
    for text in texts:
        assert by_next(text, BERLIN) == expected, text
        assert in_python(text, timezone=BERLIN) == expected, text
        field = "schedule" if " " in text and text.strip()[0].isalpha() else None
        if field and "TZ=" not in text:
            fields = {"schedule": text, "timezone": BERLIN}
            assert in_yaml(declared, fields) == expected, text
    for value in values:
        assert in_python(value, timezone=BERLIN) == expected, value
        fields = value.with_defaults(timezone=BERLIN).to_json()
        assert in_yaml(declared, fields) == expected, value


@pytest.mark.mission("D5", "H9", "V9")
def test_lists_rules_and_zones_mean_the_same_in_yaml_and_python(
    declared: Callable[[str], Declaration],
):
    friday_13 = {"cron": "0 9 13 * FRI", "day_rule": "and"}
    two = {"cron": ["CRON_TZ=Europe/Berlin 0 9 * * *", "TZ=Europe/Berlin 0 9 * * MON"]}
    instants = {"at": ["2026-12-24T12:00:00Z", "2026-12-01T09:00:00Z", "2026-01-01T00:00:00Z"]}

    assert in_yaml(declared, friday_13) == in_python(friday_13)
    assert in_python(friday_13)[0] == "2027-08-13T09:00:00Z"
    assert in_yaml(declared, two) == in_python(two) == MORNINGS
    expected = ["12-01T09:00:00Z", "12-24T12:00:00Z"]
    assert in_yaml(declared, instants) == in_python(instants) == expected


def test_a_zone_in_the_text_is_that_of_the_schedule_also_after_an_edit(
    declared: Callable[[str], Declaration],
):
    text = "timezone: Asia/Tokyo\nschedules:\n  a: {command: [x], only_between: '08:00-18:00', %s}"
    for when in ("cron: CRON_TZ=Europe/Berlin 0 9 * * *", "schedule: daily at 9am Europe/Berlin"):
        read = declared(text % when)
        specification = read.specifications["a"]

        assert specification.timezone == BERLIN
        assert specification.window is not None
        assert specification.window.timezone == BERLIN
        assert slots_of(specification) == MORNINGS

    tokyo = declared(text % "every: 1h").specifications["a"]
    for changes, zone in [
        ({"cron": "TZ=Europe/Berlin 0 9 * * *"}, BERLIN),
        ({"schedule": "every day at 9am Europe/Berlin"}, BERLIN),
        ({"schedule": "every day at 9am"}, "Asia/Tokyo"),
        ({"cron": ["0 9 * * *", "30 9 * * *"]}, "Asia/Tokyo"),
    ]:
        edited = ServiceSettings().patched(tokyo, changes, KINDS, "a", NOW)

        assert (edited.timezone, edited.recurrence.timezone) == (zone, zone)  # type: ignore[attr-defined]


@pytest.mark.mission("V8", "D3", "E10")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("cron: CRON_TZ=UTC 0 9 * * *, timezone: Europe/Berlin", "names another zone"),
        ("schedule: every day at 9am Asia/Tokyo, timezone: Europe/Berlin", "names another zone"),
        ("schedule: tomorrow at 9am", "depends on today's date"),
        ("schedule: every other day", "needs a first day"),
        ("every: 300", 'every 300 has no unit; write "300s" or "300ms"'),
        ("every: 5m, timeout: 30", 'timeout 30 has no unit; write "30s" or "30ms"'),
        ("cron: 0 24 * * *", "midnight is hour 0"),
        ("cron: []", "cron [] is an empty list"),
        ("at: 5m", 'at "5m" is not RFC 3339'),
    ],
)
def test_what_is_wrong_is_refused_in_yaml_with_its_line(
    declared: Callable[[str], Declaration], fields: str, message: str
):
    with pytest.raises(InvalidSpecification) as caught:
        declared(f"schedules:\n  a: {{command: [x], {fields}}}\n")

    assert message in str(caught.value)
    assert ":2" in str(caught.value)
