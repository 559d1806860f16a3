"""What all recurrences share: their methods, JSON, equality, bounds and errors."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from datetime import time as Time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import at, texts
from quarterjack import (
    After,
    At,
    Cron,
    Daily,
    Every,
    Hourly,
    InvalidRecurrence,
    Monthly,
    Recurrence,
    Weekday,
    Weekly,
    parse,
)
from quarterjack.times.recurrence import _shared_slots

BERLIN = "Europe/Berlin"
EDGE_WEST = datetime.max.replace(tzinfo=timezone(-timedelta(hours=12)))
EDGE_EAST = datetime.min.replace(tzinfo=timezone(timedelta(hours=12)))

instants = st.datetimes(
    min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC)
)
zones = st.sampled_from([None, "UTC", BERLIN, "America/New_York", "Pacific/Apia"])
common = {
    "timezone": zones,
    "dst_gap": st.sampled_from([None, "after", "skip"]),
    "dst_fold": st.sampled_from([None, "once", "twice"]),
    "start_at": st.none() | st.just(at("2020-01-01T00:00Z")),
    "end_at": st.none() | st.just(at("2090-06-30T12:30:00.5Z")),
}
clocks = st.times().map(lambda clock: clock.replace(microsecond=0))
recurrences: st.SearchStrategy[Recurrence] = st.one_of(
    st.builds(
        Cron,
        st.sampled_from(["30 2 * * *", "*/7 1-5 * * 1", "0 0 L * *", "@daily", "H H * * *"]),
        key=st.just("some-key"),
        **common,
    ),
    st.builds(Cron, st.just("*/5 0 9 * * *"), seconds=st.just(True), **common),
    st.builds(Cron, st.just("0 9 1 1 0"), dialect=st.just("posix"), **common),
    st.builds(
        Every,
        st.sampled_from(["5m", "1d", "2w", "monthly", "90s", "1500ms", "hourly"]),
        anchor=st.sampled_from(["slot", "completion"]),
        created_at=instants,
        **common,
    ),
    st.builds(At, instants),
    st.builds(After, st.sampled_from(["2h", "500ms", "1d"]), created_at=instants),
    st.builds(Hourly, st.integers(0, 59), st.integers(0, 59), **common),
    st.builds(Daily, clocks, **common),
    st.builds(Weekly, st.sets(st.sampled_from(list(Weekday)), min_size=1).map(tuple), clocks,
              **common),
    st.builds(Monthly, st.integers(1, 31), clocks, **common),
)  # fmt: skip


@given(recurrences)
def test_the_json_form_is_plain_and_reads_back_as_an_equal_value(recurrence: Recurrence):
    data = recurrence.to_json()

    assert json.loads(json.dumps(data)) == data
    again = parse(data)
    assert again == recurrence
    assert hash(again) == hash(recurrence)
    assert again.to_json() == data


@given(recurrences, instants)
def test_next_prev_matches_and_between_agree(recurrence: Recurrence, instant: datetime):
    following, last = recurrence.next(instant), recurrence.prev(instant)

    assert recurrence.between(instant, instant) == []
    if following is not None:
        assert following > instant
        assert following.tzinfo is UTC
        assert recurrence.matches(following)
        assert recurrence.prev(following) == following
        assert recurrence.prev(following - timedelta(microseconds=1)) == last
        assert recurrence.between(instant, following) == [following]
    if last is not None:
        assert last <= instant
        assert recurrence.matches(last)
        assert recurrence.next(last) == following
    assert recurrence.matches(instant) == (last == instant)


@given(recurrences, instants)
def test_reading_in_order_gives_the_same_slots_as_single_queries(
    recurrence: Recurrence, instant: datetime
):
    in_order: list[datetime] = []
    slot = recurrence.next(instant)
    while slot is not None and len(in_order) < 20:
        in_order.append(slot)
        slot = recurrence.next(slot)

    for earlier, later in zip([instant, *in_order], in_order, strict=False):
        _shared_slots.cache_clear()  # else the fresh one would know what the other worked out
        assert parse(recurrence.to_json()).next(earlier) == later
        assert recurrence.next(later - timedelta(microseconds=1)) == later


@given(recurrences)
def test_the_repr_is_python_code(recurrence: Recurrence):
    import datetime as module

    names = {"datetime": module, "Weekday": Weekday}
    names |= {
        kind.__name__: kind for kind in (Cron, Every, At, After, Hourly, Daily, Weekly, Monthly)
    }
    text = repr(recurrence)
    for day in Weekday:
        text = text.replace(repr(day), f"Weekday.{day.name}")

    assert eval(text, names) == recurrence


def test_a_repr_shows_only_what_differs_from_the_default():
    assert repr(Cron("0 9 * * *", timezone=BERLIN)) == (
        "Cron('0 9 * * *', timezone='Europe/Berlin')"
    )
    assert repr(Every("5m")) == "Every('5m')"


ZONE = {"timezone": "UTC", "dst_gap": "after", "dst_fold": "once"}


@pytest.mark.parametrize(
    ("recurrence", "data"),
    [
        (Cron("0 9 * * *"), {"cron": "0 9 * * *", **ZONE}),
        (Cron("0 9 * * *", key="k"), {"cron": "0 9 * * *", **ZONE}),
        (Cron("H 9 * * *", key="k"), {"cron": "H 9 * * *", "key": "k", **ZONE}),
        (
            Cron("0 9 * * *", dialect="posix", start_at=at("2025-01-01T00:00Z")),
            {"cron": "0 9 * * *", "dialect": "posix", **ZONE, "start_at": "2025-01-01T00:00:00Z"},
        ),
        (Every("14d"), {"every": "2w", "anchor": "slot", **ZONE}),
        (Every("90000ms"), {"every": "1m30s", "anchor": "slot", **ZONE}),
        (
            After("90s", created_at=at("2025-01-01T00:00Z")),
            {"after": "1m30s", "created_at": "2025-01-01T00:00:00Z"},
        ),
        (After("90s"), {"after": "1m30s"}),
        (Hourly(5), {"hourly": {"minute": 5, "second": 0}, **ZONE}),
        (
            Weekly(["friday", "monday"], Time(9)),
            {"weekly": {"days": ["monday", "friday"], "time": "09:00:00"}, **ZONE},
        ),
    ],
)
def test_the_json_form_is_as_it_was_when_it_was_first_stored(
    recurrence: Recurrence, data: dict[str, Any]
):
    assert recurrence.to_json() == data


def test_equivalent_values_are_equal():
    assert Cron("0 9 * * *") == Cron("0  9 * * *", timezone="UTC", dst_gap="after", dst_fold="once")
    assert Every(minutes=90) == Every("1h30m") == Every("PT1H30M") == Every(timedelta(minutes=90))
    assert Weekly(["friday", "monday"], Time(9)) == Weekly(
        (Weekday.MONDAY, Weekday.FRIDAY), Time(9)
    )
    assert Cron("0 9 * * *") != Cron("0 9 * * *", timezone=BERLIN)
    assert Cron("0 9 * * *") != Cron("0 9 * * *", start_at=at("2025-01-01T00:00Z"))
    assert Daily(Time(9)) != Cron("0 9 * * *")
    assert Every("1d") != Every("24h")
    assert Cron("0 9 * * *") != "0 9 * * *"
    assert hash(Cron("0 9 * * *")) != hash(Cron("0 8 * * *"))
    assert len({Cron("0 9 * * *"), Cron("0 9 * * *", timezone="UTC"), Daily(Time(9))}) == 2


@given(recurrences, instants)
def test_a_value_can_be_copied_and_sent_to_another_process_also_after_use(
    recurrence: Recurrence, instant: datetime
):
    slot = recurrence.next(instant)
    sent = pickle.dumps(recurrence)

    assert len(sent) < 1000
    assert pickle.loads(sent) == copy.copy(recurrence) == recurrence
    assert pickle.loads(sent).next(instant) == slot


@pytest.mark.parametrize("wrong", [None, "x", 5, datetime(2025, 1, 1), EDGE_WEST, EDGE_EAST])
@pytest.mark.parametrize(
    "recurrence",
    [Cron("0 9 * * *"), Every("5m"), Every("1d"), After("5m"), At(0), Every("5m", created_at=0)],
)
def test_an_invalid_instant_raises_only_invalid_recurrence(recurrence: Recurrence, wrong: Any):
    for method in (
        recurrence.next,
        recurrence.prev,
        recurrence.matches,
        lambda when: recurrence.between(when, at("1970-01-03T00:00Z")),
        lambda when: Every("5m", created_at=when).prev(when),
        lambda when: After("5m", created_at=when),
        At,
        lambda when: Cron("0 9 * * *", start_at=when, end_at=when),
    ):
        try:
            method(wrong)
        except InvalidRecurrence as error:
            assert error.problems


def test_a_bound_without_a_zone_is_named_by_its_field():
    with pytest.raises(InvalidRecurrence) as caught:
        Cron("0 9 * * *", start_at=datetime(2026, 1, 1), end_at=datetime(2026, 2, 1))

    assert [problem.field for problem in caught.value.problems] == ["start_at", "end_at"]
    with pytest.raises(
        InvalidRecurrence, match=r"start_at datetime.+ is outside the years 1 to 9999"
    ):
        Cron("0 9 * * *", start_at=EDGE_WEST)


def test_a_value_cannot_be_changed():
    with pytest.raises(AttributeError):
        Cron("0 9 * * *").expression = "* * * * *"  # type: ignore[misc]


def test_with_defaults_fills_in_only_missing_fields():
    filled = Cron("0 9 * * *", dst_gap="skip").with_defaults(
        timezone=BERLIN, dst_gap="after", dst_fold="twice", created_at=at("2025-01-01T00:00Z")
    )

    assert (filled.timezone, filled.dst_gap, filled.dst_fold) == (BERLIN, "skip", "twice")
    assert filled.with_defaults(timezone="UTC") is filled
    assert filled.with_defaults(timezone=None) is filled


def test_the_bounds_still_belong_to_the_recurrence():
    start, end = at("2025-01-03T09:00Z"), at("2025-01-05T09:00Z")
    cron = Cron("0 9 * * *", start_at=start, end_at=end)

    assert texts(cron.between(at("2024-01-01T00:00Z"), at("2026-01-01T00:00Z"))) == [
        "2025-01-03T09:00Z",
        "2025-01-04T09:00Z",
        "2025-01-05T09:00Z",
    ]
    assert cron.next(at("2020-01-01T00:00Z")) == start
    assert cron.next(end) is None
    assert cron.prev(at("2030-01-01T00:00Z")) == end
    assert cron.prev(start - timedelta(seconds=1)) is None
    assert cron.matches(start)
    assert not cron.matches(end + timedelta(days=1))


def test_one_bound_alone_leaves_the_other_side_open():
    until = Cron("0 9 * * *", end_at="2025-01-05T09:00:00Z")
    since = Cron("0 9 * * *", start_at=1_735_894_800_000)

    assert until.prev(at("1999-01-01T00:00Z")) == at("1998-12-31T09:00Z")
    assert since.next(at("2099-01-01T00:00Z")) == at("2099-01-01T09:00Z")
    assert since.next(at("1999-01-01T00:00Z")) == at("2025-01-03T09:00Z")


def test_all_problems_of_a_recurrence_are_reported_at_once():
    with pytest.raises(InvalidRecurrence) as caught:
        Cron("61 * * * *", timezone="Berln", dst_gap="no", dst_fold="no", start_at="x", end_at=True)

    assert str(caught.value) == "\n".join(
        [
            'cron "61 * * * *": 6 problems',
            "  - minute 61 is outside 0-59; use 0-59",
            '  - timezone "Berln" is unknown; did you mean "Europe/Berlin"?',
            '  - dst_gap "no" is unknown; use after or skip',
            '  - dst_fold "no" is unknown; use once or twice',
            '  - start_at "x" is not RFC 3339; write it as "2026-11-16T09:00:00Z"',
            "  - end_at True is not an instant; use RFC 3339 text, Unix milliseconds or an aware "
            "datetime",
        ]
    )


def test_a_start_after_the_end_is_refused_and_one_at_the_end_is_not():
    end = at("2025-01-01T00:00Z")

    with pytest.raises(InvalidRecurrence, match="is after end_at; swap the two"):
        Hourly(0, start_at=end + timedelta(seconds=1), end_at=end)
    assert Hourly(0, start_at=end, end_at=end).next(at("2020-01-01T00:00Z")) == end
