"""Time zones: offsets, spans and names."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times import walk
from harness.times.at import at, us
from quarterjack import Cron, InvalidRecurrence
from quarterjack.clock import host_timezone
from quarterjack.times import zone, zone_data_version
from quarterjack.times.instants import DAY, EARLIEST, LATEST, to_datetime
from quarterjack.times.slots import WallTimeSlots
from quarterjack.times.zones import zone_name, zone_names

MICROSECOND = timedelta(microseconds=1)


def test_every_zone_agrees_with_zoneinfo_at_each_change_and_at_random_instants():
    random = Random(5)
    for name in sorted(zone_names()):
        own_zone, expected_zone = zone(name), walk.zone(name)
        starts = own_zone.table(EARLIEST).starts[1:]
        instants = [start + beside for start in starts for beside in (-1, 0)]
        latest = LATEST - 2 * DAY if random.random() < 0.02 else us("2500-01-01T00:00Z")
        instants += [random.randrange(EARLIEST + 2 * DAY, latest) for _ in range(20)]
        for instant in instants:
            expected = to_datetime(instant).astimezone(expected_zone).utcoffset()
            assert own_zone.offset(instant) * MICROSECOND == expected, (name, to_datetime(instant))


def test_no_zone_changes_twice_within_the_time_that_a_change_skips_or_repeats():
    """The search through gaps and folds relies on it: a span is longer than its jumps."""
    for name in zone_names():
        table = zone(name).table(us("2100-01-01T00:00Z"))
        for index in range(1, len(table.starts) - 1):
            length = table.ends[index] - table.starts[index]
            before, here, after = table.offsets[index - 1 : index + 2]
            assert length > 2 * max(abs(here - before), abs(after - here)), name


def test_each_listed_change_really_changes_the_offset():
    for name in zone_names():
        offsets = zone(name).table(EARLIEST).offsets
        assert all(a != b for a, b in pairwise(offsets)), name


def test_the_table_grows_with_the_years_requested():
    own_zone = zone.__wrapped__("Pacific/Auckland")

    early = own_zone.table(us("2000-01-01T00:00Z"))
    late = own_zone.table(us("9990-01-01T00:00Z"))

    assert len(late.starts) > len(early.starts)
    assert late.starts[: len(early.starts)] == early.starts
    assert to_datetime(late.starts[-1]).year == 9999
    assert own_zone.table(LATEST) is own_zone.table(EARLIEST)


def test_slots_are_the_same_whether_the_table_has_grown_or_not():
    """Around the last change in a new table, with a new table for each query."""
    daily = Cron("30 1 * * *", timezone="America/New_York").fields
    grown = zone("America/New_York")
    grown.table(us("2300-01-01T00:00Z"))
    last = zone.__wrapped__("America/New_York").table(EARLIEST).starts[-1]

    for day in range(-3, 4):
        for minutes in (-91, -1, 0, 1, 91):
            instant = last + day * DAY + minutes * 60_000_000
            new = zone.__wrapped__("America/New_York")
            answers = []
            for own_zone in (new, grown):
                slots = WallTimeSlots(
                    daily.wall_times(), own_zone, gap_after=True, fold_twice=False
                )
                following = slots.after(instant)
                assert following is not None
                ahead = [slots.after(following), slots.at_or_before(instant)]
                answers.append([following, *ahead, own_zone.unambiguous_span_of_wall_time(instant)])
            assert answers[0] == answers[1], to_datetime(instant)


def test_a_zone_without_changes_is_always_unambiguous():
    assert zone("UTC").unambiguous_span(0) == (EARLIEST, LATEST + 1, 0)
    assert zone("UTC").unambiguous_span(EARLIEST) == (EARLIEST, LATEST + 1, 0)
    assert zone("UTC").unambiguous_span_of_wall_time(LATEST) == (EARLIEST, LATEST + 1, 0)


def test_the_unambiguous_part_of_a_span_excludes_gaps_and_folds():
    own_zone = zone("America/New_York")
    hour = timedelta(hours=1) // MICROSECOND
    gap, fold = us("2025-03-09T07:00Z"), us("2025-11-02T06:00Z")

    summer = own_zone.unambiguous_span(us("2025-07-01T00:00Z"))

    assert summer == (gap, fold - hour, -4 * hour)
    assert own_zone.unambiguous_span(fold - hour) is None
    assert own_zone.unambiguous_span(fold + hour - 1) is None
    assert own_zone.unambiguous_span(fold + hour) == (
        fold + hour,
        us("2026-03-08T07:00Z"),
        -5 * hour,
    )
    assert own_zone.unambiguous_span_of_wall_time(us("2025-03-09T02:30Z")) is None
    assert own_zone.unambiguous_span_of_wall_time(us("2025-11-02T01:30Z")) is None
    assert own_zone.unambiguous_span_of_wall_time(us("2025-07-01T00:00Z")) == summer


def test_the_version_of_the_zone_data():
    assert zone_data_version()[:2] == "20"
    assert len(zone_data_version()) == 5


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("america/new york", "America/New_York"),
        ("berlin", "Europe/Berlin"),
        ("Calcuta", "Asia/Calcutta"),
        ("Rome", "Europe/Rome"),
        ("utc", "UTC"),
    ],
)
def test_an_unknown_zone_is_refused_with_the_nearest_name(wrong: str, nearest: str):
    with pytest.raises(InvalidRecurrence) as caught:
        Cron("0 9 * * *", timezone=wrong)

    (problem,) = caught.value.problems
    assert problem.field == "timezone"
    assert problem.value == f'"{wrong}"'
    assert problem.reason == "is unknown"
    assert problem.remedy == f'did you mean "{nearest}"?'


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "qqqqq",
        "../../etc/passwd",
        "x" * 5000,
        None,
        5,
        b"UTC",
        "AEST",
        "CEST",
        "UTC+2",
        "GMT+2",
        "+02:00",
    ],
)
def test_an_unrecognizable_zone_is_refused_with_an_example(wrong: object):
    with pytest.raises(InvalidRecurrence) as caught:
        zone_name(wrong)

    assert caught.value.problems[0].remedy == ('use a name such as "Europe/Berlin", or "local"')


def test_zone_refuses_unknown_names():
    with pytest.raises(InvalidRecurrence, match="is unknown"):
        zone("Mars/Olympus")


@pytest.mark.mission("V9")
def test_local_becomes_the_hosts_iana_name_when_declared(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "Europe/Vienna")
    cron = Cron("30 2 * * *", timezone="local")
    monkeypatch.setenv("TZ", "Asia/Tokyo")

    assert cron.timezone == "Europe/Vienna"
    assert cron.next(at("2025-01-01T00:00Z")) == at("2025-01-01T01:30Z")


def test_local_on_a_host_without_an_iana_name_is_refused_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("TZ", "XYZ5")

    with pytest.raises(InvalidRecurrence) as caught:
        Cron("30 2 * * *", timezone="local")

    assert str(caught.value) == (
        'cron "30 2 * * *": timezone "local" is "XYZ5" on this host, which is not an IANA name; '
        "set TZ to an IANA name, or use one instead of local"
    )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TZ": "Asia/Tokyo"}, "Asia/Tokyo"),
        ({"TZ": ":Asia/Tokyo"}, "Asia/Tokyo"),
        ({"TZ": ":/usr/share/zoneinfo/Asia/Tokyo"}, "Asia/Tokyo"),
        ({"TZ": ""}, "UTC"),
        ({}, "Europe/Paris"),
    ],
)
def test_the_hosts_zone_is_read_as_the_c_library_does(
    environment: dict[str, str], expected: str, tmp_path: Path
):
    (tmp_path / "localtime").symlink_to("/usr/share/zoneinfo/Europe/Paris")
    (tmp_path / "timezone").write_text("Europe/Rome\n")

    assert host_timezone(environment, tmp_path) == expected
    assert host_timezone({"TZ": f":{tmp_path}/localtime"}) == "Europe/Paris"


def test_a_host_that_names_its_zone_in_a_file_or_not_at_all(tmp_path: Path):
    assert host_timezone({}, tmp_path) == "UTC"
    (tmp_path / "localtime").write_bytes(b"TZif")
    assert host_timezone({}, tmp_path) == str(tmp_path / "localtime")
    (tmp_path / "timezone").write_bytes(b"\n# \xff a comment\nEurope/Rome\n")
    assert host_timezone({}, tmp_path) == "Europe/Rome"


@given(st.sampled_from(sorted(zone_names())), st.integers(us("1900-01-01T00:00Z"), 2**52))
def test_an_unambiguous_instant_and_its_wall_time_have_the_same_span(name: str, instant: int):
    own_zone = zone(name)
    span = own_zone.unambiguous_span(instant)

    if span is not None:
        low, high, offset = span
        assert low <= instant < high
        assert own_zone.unambiguous_span_of_wall_time(instant + offset) == span
