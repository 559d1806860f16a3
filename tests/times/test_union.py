"""Unions: several expressions or instants as one recurrence."""

from __future__ import annotations

import pickle
from datetime import datetime
from itertools import islice
from random import Random
from typing import Any

import pytest

from harness.times.at import at, us
from quarterjack import After, At, Cron, Every, InvalidRecurrence, parse
from quarterjack.times import Union, slots_between
from quarterjack.times.instants import DAY, LATEST

BERLIN = "Europe/Berlin"
TWO = ["0 9 * * *", "30 12 * * *"]


@pytest.mark.mission("D5")
def test_a_list_names_the_slots_of_all_expressions_each_once():
    union = Cron([*TWO, "0 9 * * MON"], timezone=BERLIN)

    assert isinstance(union, Union)
    assert union.between(at("2026-11-16T00:00Z"), at("2026-11-17T00:00Z")) == [
        at("2026-11-16T08:00Z"),
        at("2026-11-16T11:30Z"),
    ]
    assert union.prev(at("2026-11-16T11:29Z")) == at("2026-11-16T08:00Z")
    assert union.matches(at("2026-11-16T11:30Z"))
    assert union.slots.count(us("2026-11-16T00:00Z"), us("2026-11-23T00:00Z")) == 14


@pytest.mark.mission("D5")
def test_a_list_of_instants_fires_at_each():
    union = At(["2026-12-02T09:00:00+01:00", 1_794_906_000_000, "2026-12-02T08:00:00Z"])

    assert union.between(at("2026-01-01T00:00Z"), at("2027-01-01T00:00Z")) == [
        at("2026-11-17T09:00Z"),
        at("2026-12-02T08:00Z"),
    ]
    assert union.prev(at("2026-12-01T00:00Z")) == at("2026-11-17T09:00Z")
    assert union.prev(at("2026-01-01T00:00Z")) is None
    assert union.slots.count(us("2026-11-17T09:00Z"), us("2027-11-17T09:00Z")) == 1
    assert union.describe() == "once each at 2026-12-02T08:00:00Z and 2026-11-17T09:00:00Z"


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ({"cron": TWO}, Cron(TWO)),
        ({"cron": TWO[::-1], "timezone": "UTC"}, Cron(TWO)),
        ({"cron": TWO, "dst_gap": "skip"}, Cron(TWO, dst_gap="skip")),
        ({"cron": ["0 9 * * *"]}, Cron("0 9 * * *")),
        ({"cron": ["0 9 * * *", "0  9 * * *"]}, Cron("0 9 * * *")),
        ({"cron": [f"TZ={BERLIN} {each}" for each in TWO]}, Cron(TWO, timezone=BERLIN)),
        ({"cron": ["H 3 * * *", "H 4 * * *"]}, Cron(["H 3 * * *", "H 4 * * *"], key="k")),
        ({"at": ["2026-12-02T08:00:00Z"]}, At("2026-12-02T08:00:00Z")),
        ({"at": ["2026-12-02T08:00:00Z", 0]}, At(0) | At("2026-12-02T08:00:00Z")),
    ],
)
def test_lists_are_parsed_and_a_list_of_equal_parts_is_that_part(
    spelling: dict[str, Any], expected: object
):
    union = parse(spelling, key="k")

    assert union == expected
    assert hash(union) == hash(expected)
    assert parse(union.to_json(), key="k") == union


def test_the_json_form_is_that_of_a_part_with_a_list():
    union = Cron(TWO, timezone=BERLIN, day_rule="and", end_at="2027-01-01T00:00:00Z")

    assert union.to_json() == Cron(
        TWO[0], timezone=BERLIN, day_rule="and", end_at="2027-01-01T00:00:00Z"
    ).to_json() | {"cron": TWO}
    assert At([0, 1000]).to_json() == {"at": ["1970-01-01T00:00:00Z", "1970-01-01T00:00:01Z"]}
    assert At([0]).to_json() == {"at": "1970-01-01T00:00:00Z"}


def test_unions_of_unions_are_one_union_and_can_be_copied():
    union = Cron("0 9 * * *") | Cron("30 12 * * *") | Cron("0 9 * * *")

    assert isinstance(union, Union)
    assert union == Cron(TWO)
    assert union | Cron(TWO) == union
    assert len(union.parts) == 2
    assert union != Cron("0 9 * * *")
    assert pickle.loads(pickle.dumps(union)) == union
    assert repr(union) == "Cron('0 9 * * *') | Cron('30 12 * * *')"


def test_defaults_are_filled_in_for_all_parts_and_bounds_hold_for_all():
    union = Cron(TWO, start_at=at("2026-11-16T10:00Z")).with_defaults(
        timezone=BERLIN, dst_gap="skip"
    )

    assert isinstance(union, Union)
    assert (union.timezone, union.dst_gap, union.dst_fold) == (BERLIN, "skip", None)
    assert (union.start_at, union.end_at) == (at("2026-11-16T10:00Z"), None)
    assert union.next(at("2026-01-01T00:00Z")) == at("2026-11-16T11:30Z")
    assert Cron(TWO, end_at=at("2026-11-16T10:00Z")).next(at("2026-11-16T09:00Z")) is None
    assert At([0, 1000]).with_defaults(timezone=BERLIN) == At([0, 1000])


@pytest.mark.parametrize(
    ("crons", "phrase"),
    [
        (TWO, "every day at 09:00 and 12:30"),
        (["0 9 * * *", "30 12 * * MON"], "every day at 09:00, and every Monday at 12:30"),
        (["30 17 * * 1-5", "0 9 * * 1-5", "*/5 8-9 * * 6"],
         "Monday to Friday at 09:00 and 17:30, and every 5 minutes of hours 8 and 9, every "
         "Saturday"),
    ],
)  # fmt: skip
def test_a_union_is_described_in_one_sentence(crons: list[str], phrase: str):
    assert Cron(crons).describe() == phrase
    assert Cron(crons, timezone=BERLIN).describe() == f"{phrase} ({BERLIN})"


@pytest.mark.mission("V8", "D3")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Cron([]), "cron [] is an empty list; give 1 to 20"),
        (lambda: At([]), "at [] is an empty list; give 1 to 1000"),
        (lambda: Cron(["* * * * *"] * 21), "is a list of 21; give 1 to 20"),
        (lambda: At(list(range(1001))), "is a list of 1001; give 1 to 1000"),
        (lambda: Cron(["0 25 * * 8", 5]), "hour 25 is outside 0-23"),
        (lambda: Cron(["0 25 * * 8", 5]), "day of week 8 is outside 0-7"),
        (lambda: Cron(["0 25 * * 8", 5]), "cron 5 is not text; use a string"),
        (lambda: Cron([f"TZ={BERLIN} 0 9 * * *", "0 9 * * *"]),
         'timezone "Europe/Berlin and UTC" differ within one list; use the same timezone for all'),
        (lambda: Cron("0 9 * * *") | At(0), '"Cron | At" cannot be one recurrence'),
        (lambda: Every("5m") | Every("7m"), '"Every | Every" cannot be one recurrence; use'),
        (lambda: After("5m") | Cron("0 9 * * *"), "cannot be one recurrence"),
        (lambda: parse({"cron": TWO, "timezone": "X"}), 'timezone "X" is unknown'),
        (lambda: parse({"cron": ["H 3 * * *", "0 4 * * *"]}), "needs the schedule's key"),
        (lambda: Cron([*TWO, TWO]), "cron ['0 9 * * *', '30 12 * * *'] is a list within"),
    ],
)  # fmt: skip
def test_a_wrong_list_is_refused_with_all_its_problems(make: Any, message: str):
    with pytest.raises(InvalidRecurrence) as caught:
        make()

    assert message in str(caught.value)


@pytest.mark.parametrize("timezone", ["UTC", "America/New_York", "Australia/Lord_Howe"])
@pytest.mark.parametrize(
    "crons",
    [
        TWO,
        ["*/7 1-3 * * *", "30 2 * * *", "5 3 1 * MON"],
        ["0 0 29 2 *", "30 2 * * *", "15 2 L * *"],
        ["* * * * *", "30 2 * * *"],
    ],
)
def test_counts_equal_what_the_parts_name_together(crons: list[str], timezone: str):
    """Also over changes of offset; those are compared with the walk in `test_oracle`."""
    union, random = Cron(crons, timezone=timezone), Random(timezone)
    parts = [Cron(each, timezone=timezone) for each in crons]
    for _ in range(4):
        low = us("2026-01-01T00:00Z") + random.randrange(600) * DAY
        high = low + random.randrange(3, 40) * DAY
        slots = {slot for part in parts for slot in slots_between(part.slots, low, high)}

        assert list(slots_between(union.slots, low, high)) == sorted(slots)
        assert union.slots.count(low, high) == len(slots)
        middle = (low + high) // 2
        before = [part.slots.at_or_before(middle) for part in parts]
        assert union.slots.at_or_before(middle) == max(each for each in before if each is not None)


def test_the_first_and_the_last_years_have_an_end():
    union = Cron(["0 0 29 2 *", "0 12 1 1 *"])
    last = us("9999-12-31T00:00Z")

    assert union.next(datetime.max.replace(tzinfo=at("2026-01-01T00:00Z").tzinfo)) is None
    assert union.prev(at("0001-01-01T00:00Z")) is None
    assert union.prev(at("9999-12-31T00:00Z")) == at("9999-01-01T12:00Z")
    assert list(islice(slots_between(union.slots, last, LATEST), 3)) == []
    assert union.slots.count(us("0001-01-01T00:00Z"), last) == 9999 + 2424
    assert union.slots.count(last, us("2026-01-01T00:00Z")) == 0


def test_an_empty_range_has_no_slots_of_fixed_and_real_times():
    union = Cron(["0 9 * * *", "*/5 * * * 6"], timezone=BERLIN)

    assert union.slots.count(us("2026-01-02T00:00Z"), us("2026-01-01T00:00Z")) == 0


def test_a_list_has_at_most_twenty_expressions():
    crons = [f"{minute} 9 * * *" for minute in range(21)]

    with pytest.raises(InvalidRecurrence, match="is a list of 21; give 1 to 20"):
        Cron(crons)
    with pytest.raises(InvalidRecurrence, match="too many in one list; use at most 20"):
        Cron(crons[:20]) | Cron(crons[20])


def test_the_day_rule_is_not_posix():
    with pytest.raises(InvalidRecurrence, match='day_rule "and" is not POSIX'):
        Cron("0 9 1 * 1", dialect="posix", day_rule="and")
