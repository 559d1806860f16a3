"""Recurrences as values: the face they share, their JSON, and what each kind adds."""

from __future__ import annotations

import copy
import json
import pickle
from datetime import UTC, datetime, timedelta, timezone
from datetime import time as Time
from functools import partial
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.times.at import at, texts, us
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
from quarterjack.times import Slots, slots_between
from quarterjack.times.instants import DAY, LATEST, to_datetime
from quarterjack.times.recurrence import _shared_slots
from quarterjack.times.slots import BoundedSlots, EvenSlots, OneSlot, StartedSlots

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
        st.sampled_from(["5m", "1d", "2w", "monthly", "90s", 1500, "hourly"]),
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
    said = recurrence.to_json()

    assert json.loads(json.dumps(said)) == said
    again = parse(said)
    assert again == recurrence
    assert hash(again) == hash(recurrence)
    assert again.to_json() == said


@given(recurrences, instants)
def test_next_prev_matches_and_between_tell_one_story(recurrence: Recurrence, instant: datetime):
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
def test_reading_in_order_gives_the_same_slots_as_asking_for_each(
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
def test_the_repr_is_how_one_would_write_it(recurrence: Recurrence):
    import datetime as module

    names = {"datetime": module, "Weekday": Weekday}
    names |= {
        kind.__name__: kind for kind in (Cron, Every, At, After, Hourly, Daily, Weekly, Monthly)
    }
    text = repr(recurrence)
    for day in Weekday:
        text = text.replace(repr(day), f"Weekday.{day.name}")

    assert eval(text, names) == recurrence


def test_a_repr_says_only_what_differs_from_the_default():
    assert repr(Cron("0 9 * * *", timezone=BERLIN)) == (
        "Cron('0 9 * * *', timezone='Europe/Berlin')"
    )
    assert repr(Every("5m")) == "Every('5m')"


ZONE = {"timezone": "UTC", "dst_gap": "after", "dst_fold": "once"}


@pytest.mark.parametrize(
    ("recurrence", "said"),
    [
        (Cron("0 9 * * *"), {"cron": "0 9 * * *", **ZONE}),
        (Cron("0 9 * * *", key="k"), {"cron": "0 9 * * *", **ZONE}),
        (Cron("H 9 * * *", key="k"), {"cron": "H 9 * * *", "key": "k", **ZONE}),
        (
            Cron("0 9 * * *", dialect="posix", start_at=at("2025-01-01T00:00Z")),
            {"cron": "0 9 * * *", "dialect": "posix", **ZONE, "start_at": "2025-01-01T00:00:00Z"},
        ),
        (Every("14d"), {"every": "2w", "anchor": "slot", **ZONE}),
        (Every(90_000), {"every": "1m30s", "anchor": "slot", **ZONE}),
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
    recurrence: Recurrence, said: dict[str, Any]
):
    assert recurrence.to_json() == said


def test_values_are_equal_when_they_say_the_same():
    assert Cron("0 9 * * *") == Cron("0  9 * * *", timezone="UTC", dst_gap="after", dst_fold="once")
    assert Every(minutes=90) == Every("1h30m") == Every("PT1H30M") == Every(5_400_000)
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
def test_what_is_no_instant_gets_an_answer_or_an_invalid_recurrence_and_nothing_else(
    recurrence: Recurrence, wrong: Any
):
    for ask in (
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
            ask(wrong)
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


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_a_calendar_interval_may_begin_on_the_last_evening_there_is(zone: str):
    for every in ("monthly", "1d"):
        late = Every(every, created_at=at("9999-12-31T23:00Z"), timezone=zone)
        assert late.next(at("9999-12-31T23:00Z")) is None
        early = Every(every, start_at=at("0001-01-01T00:30Z"), timezone=zone)
        assert early.prev(at("0001-01-01T12:00Z")) == at("0001-01-01T00:30Z")


def test_a_value_cannot_be_changed():
    with pytest.raises(AttributeError):
        Cron("0 9 * * *").expression = "* * * * *"  # type: ignore[misc]


def test_with_defaults_fills_in_what_was_left_open_and_nothing_else():
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


def test_all_problems_of_a_recurrence_are_told_at_once():
    with pytest.raises(InvalidRecurrence) as caught:
        Cron("61 * * * *", timezone="Berln", dst_gap="no", dst_fold="no", start_at="x", end_at=True)

    assert str(caught.value) == "\n".join(
        [
            'cron "61 * * * *": 6 problems',
            "  - minute 61 is outside 0-59; use 0-59",
            '  - timezone "Berln" is unknown; did you mean "Europe/Berlin"?',
            '  - dst_gap "no" is unknown; write after or skip',
            '  - dst_fold "no" is unknown; write once or twice',
            '  - start_at "x" is not RFC 3339; write it as "2026-11-16T09:00:00Z"',
            "  - end_at True is no instant; give RFC 3339 text, Unix milliseconds or an aware "
            "datetime",
        ]
    )


def test_a_start_after_the_end_is_refused_and_one_at_the_end_is_not():
    end = at("2025-01-01T00:00Z")

    with pytest.raises(InvalidRecurrence, match="is after end_at; swap the two"):
        Hourly(0, start_at=end + timedelta(seconds=1), end_at=end)
    assert Hourly(0, start_at=end, end_at=end).next(at("2020-01-01T00:00Z")) == end


# Every


@pytest.mark.mission("D4", "H2")
@pytest.mark.parametrize(
    ("every", "expected"),
    [
        (Every("5m"), "2025-01-31T10:05Z"),
        (Every("hourly"), "2025-01-31T11:00Z"),
        (Every("2h"), "2025-01-31T12:00Z"),
        (Every("daily"), "2025-02-01T10:00Z"),
        (Every("weekly"), "2025-02-07T10:00Z"),
        (Every("monthly"), "2025-02-28T10:00Z"),
        (Every(seconds=60), "2025-01-31T10:01Z"),
        (Every(minutes=5, hours=1), "2025-01-31T11:05Z"),
        (Every(days=1), "2025-02-01T10:00Z"),
        (Every(days=1, hours=1), "2025-02-01T11:00Z"),
        (Every(60_000), "2025-01-31T10:01Z"),
    ],
)
def test_without_an_anchor_the_first_slot_is_one_interval_from_where_one_asks(
    every: Every, expected: str
):
    start = at("2025-01-31T10:00Z")

    assert every.next(start) == at(expected)
    assert every.between(start, at(expected)) == [at(expected)]


@pytest.mark.mission("D4")
def test_slots_are_counted_from_creation_which_is_none_itself():
    every = Every("1h", created_at=at("2025-01-01T00:10Z"))

    assert every.prev(at("2025-01-01T00:30Z")) is None
    assert every.next(at("2024-01-01T00:00Z")) == at("2025-01-01T01:10Z")
    assert every.next(at("2025-01-01T01:10Z")) == at("2025-01-01T02:10Z")
    assert every.prev(at("2025-01-01T05:00Z")) == at("2025-01-01T04:10Z")


def test_calendar_days_are_counted_from_creation_to_the_microsecond():
    every = Every("2d", created_at=at("2025-01-01T10:20:30.5Z"))

    assert every.prev(at("2025-01-03T10:20:30Z")) is None
    assert every.next(at("2020-01-01T00:00Z")) == at("2025-01-03T10:20:30.5Z")
    assert every.next(at("2025-01-03T10:20:30.5Z")) == at("2025-01-05T10:20:30.5Z")
    assert every.prev(at("2025-01-03T10:20:45Z")) == at("2025-01-03T10:20:30.5Z")
    assert every.prev(at("2025-01-05T10:20:30.4Z")) == at("2025-01-03T10:20:30.5Z")


def test_a_start_is_the_first_slot_and_outranks_creation():
    start = at("2025-01-01T00:10Z")
    every = Every("1h", start_at=start, created_at=at("2025-01-01T00:00Z"))
    daily = Every("1d", start_at=start)

    assert every.next(at("2024-01-01T00:00Z")) == start
    assert every.prev(at("2025-01-01T01:00Z")) == start
    assert daily.next(at("2024-01-01T00:00Z")) == start
    assert daily.prev(at("2025-01-01T12:00Z")) == start
    assert daily.prev(at("2025-01-01T00:00Z")) is None
    assert daily.next(start) == at("2025-01-02T00:10Z")


@pytest.mark.mission("D4")
def test_a_monthly_interval_clamps_to_the_last_day_and_does_not_drift():
    every = Every("monthly", start_at=at("2024-01-31T10:00Z"))

    found = every.between(at("2024-01-31T10:00Z"), at("2024-06-01T00:00Z"))

    assert texts(found) == [
        "2024-02-29T10:00Z",
        "2024-03-31T10:00Z",
        "2024-04-30T10:00Z",
        "2024-05-31T10:00Z",
    ]
    created = Every("monthly", created_at=at("2024-02-29T10:00Z"))
    assert created.next(at("2024-02-01T00:00Z")) == at("2024-03-29T10:00Z")
    assert created.prev(at("2024-03-01T00:00Z")) is None


@pytest.mark.fault("F41")
def test_calendar_days_keep_their_wall_time_and_elapsed_days_do_not():
    start = at("2025-03-29T08:00Z")
    calendar = Every("1d", start_at=start, timezone=BERLIN)
    elapsed = Every("24h", start_at=start, timezone=BERLIN)

    assert calendar.next(start) == at("2025-03-30T07:00Z")
    assert elapsed.next(start) == at("2025-03-30T08:00Z")


@pytest.mark.fault("F41")
def test_a_start_in_the_second_pass_of_a_fold_is_still_the_first_slot():
    second_pass = at("2025-10-26T01:30Z")  # 02:30 in Berlin, for the second time
    every = Every("1d", start_at=second_pass, timezone=BERLIN)

    assert every.next(at("2025-10-26T00:00Z")) == second_pass
    assert every.prev(at("2025-10-26T01:30Z")) == second_pass
    assert every.matches(second_pass)
    assert every.next(second_pass) == at("2025-10-27T01:30Z")


def test_an_interval_without_an_anchor_cannot_be_asked_what_was():
    for ask in (Every("5m").prev, Every("1d").matches):
        with pytest.raises(InvalidRecurrence, match="has no anchor yet; give it start_at or"):
            ask(at("2025-01-01T00:00Z"))
    with pytest.raises(InvalidRecurrence) as caught:
        Every("5m").prev(at("2025-01-01T00:00Z"))
    assert str(caught.value) == 'every "5m" has no anchor yet; give it start_at or created_at'
    assert Every("1d").wall_slots is None
    assert Every("5m", created_at=at("2025-01-01T00:00Z")).wall_slots is None


@pytest.mark.mission("H2")
@pytest.mark.parametrize(
    ("parts", "problems"),
    [
        ({"seconds": 0}, ["seconds 0 is outside 1-86400; give a whole number from 1 to 86400"]),
        ({"seconds": 86_401}, ["seconds 86401 is outside 1-86400; give a whole number from 1 to "
                               "86400"]),
        ({"minutes": 1441, "hours": 169}, [
            "minutes 1441 is outside 1-1440; give a whole number from 1 to 1440",
            "hours 169 is outside 1-168; give a whole number from 1 to 168",
        ]),
        ({"days": 366}, ["days 366 is outside 1-365; give a whole number from 1 to 365"]),
        ({"days": True}, ["days True is outside 1-365; give a whole number from 1 to 365"]),
        ({"days": 1.0}, ["days 1.0 is outside 1-365; give a whole number from 1 to 365"]),
        ({}, ["every None is missing; say how often, as in Every(minutes=5)"]),
        ({"every": "5m", "anchor": "end"}, ['anchor "end" is unknown; write slot or completion']),
        ({"every": "5m", "created_at": "x"}, ['created_at "x" is not RFC 3339; write it as '
                                              '"2026-11-16T09:00:00Z"']),
        ({"every": "5m", "hours": 1}, ['every "5m" and parts are both given; give either one']),
        ({"every": "5x"}, ['every "5x" is no duration; write units from large to small, such as '
                           "90s, 1h30m, 2w, 500ms or PT5M"]),
    ],
)  # fmt: skip
def test_an_interval_is_validated_when_it_is_made(parts: dict[str, Any], problems: list[str]):
    with pytest.raises(InvalidRecurrence) as caught:
        Every(**parts)

    assert [str(problem) for problem in caught.value.problems] == problems
    assert caught.value.text.startswith("every") or not caught.value.text


@pytest.mark.mission("H2")
def test_the_largest_parts_are_taken():
    every = Every(seconds=86_400, minutes=1_440, hours=168, days=365)

    assert every.interval.elapsed == timedelta(days=365 + 7 + 1 + 1) // timedelta(microseconds=1)
    assert Every(seconds=1, minutes=1, hours=1).every == "1h1m1s"


def test_an_error_about_one_interval_does_not_say_it_twice():
    with pytest.raises(InvalidRecurrence) as caught:
        Every("5")

    assert str(caught.value) == 'every "5" is no duration; add a unit, as in "5s" or "5ms"'


# At and After


@pytest.mark.mission("D5")
def test_at_is_one_instant():
    once = At("2026-11-16T09:00:00+02:00")

    assert once.at == at("2026-11-16T07:00Z")
    assert once.next(at("2026-11-16T06:59Z")) == at("2026-11-16T07:00Z")
    assert once.next(at("2026-11-16T07:00Z")) is None
    assert once.prev(at("2026-11-16T07:00Z")) == at("2026-11-16T07:00Z")
    assert once.prev(at("2026-11-16T06:59Z")) is None


@pytest.mark.mission("D5")
def test_after_is_fixed_by_its_creation_and_kept_over_restarts():
    once = After("2h", created_at=at("2025-01-01T00:00Z"))

    assert once.next(at("2025-01-01T00:00Z")) == at("2025-01-01T02:00Z")
    assert once.next(at("2025-01-01T02:00Z")) is None
    assert once.with_defaults(created_at=at("2025-01-01T01:00Z")) is once
    assert parse(once.to_json(), now=at("2025-01-05T00:00Z")) == once


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"after": "x"}, 'after "x" is no duration; write units from large to small, such as 90s'),
        ({"after": "2h", "created_at": "x"}, 'created_at "x" is not RFC 3339'),
    ],
)
def test_after_is_validated_when_it_is_made(words: dict[str, Any], message: str):
    with pytest.raises(InvalidRecurrence) as caught:
        After(**words)

    assert str(caught.value).startswith(message)


def test_after_the_end_of_time_there_is_no_slot():
    assert After("1d", created_at=at("9999-12-31T12:00Z")).next(at("9999-12-31T12:00Z")) is None


def test_after_without_creation_counts_from_where_one_asks():
    assert After("2h").next(at("2025-01-01T00:00Z")) == at("2025-01-01T02:00Z")
    assert After(1500).between(at("2025-01-01T00:00Z"), at("2025-01-02T00:00Z")) == [
        at("2025-01-01T00:00:01.5Z")
    ]
    with pytest.raises(InvalidRecurrence, match='after "2h" has no anchor yet; give it created_at'):
        After("2h").prev(at("2025-01-01T00:00Z"))


# Hourly, Daily, Weekly, Monthly


@pytest.mark.mission("H2")
def test_the_typed_patterns_name_what_they_say():
    start = at("2025-01-29T12:20:30Z")  # a Wednesday

    assert Hourly(30).next(start) == at("2025-01-29T12:30Z")
    assert Hourly(20, 30).next(start) == at("2025-01-29T13:20:30Z")
    assert Daily(Time(3, 0, 15)).next(start) == at("2025-01-30T03:00:15Z")
    assert Weekly((Weekday.SUNDAY, Weekday.MONDAY), Time(9)).next(start) == at("2025-02-02T09:00Z")
    assert Weekly((Weekday.WEDNESDAY,), Time(12, 20, 31)).next(start) == at("2025-01-29T12:20:31Z")
    assert Monthly(30, Time(9)).next(at("2025-01-30T09:00Z")) == at("2025-03-30T09:00Z")


@pytest.mark.mission("H2")
@pytest.mark.parametrize("dst_gap", ["after", "skip"])
@pytest.mark.parametrize("dst_fold", ["once", "twice"])
@pytest.mark.parametrize(
    ("make", "cron"),
    [
        (partial(Hourly, 30), "30 * * * *"),
        (partial(Hourly, 30, 15), "15 30 * * * *"),
        (partial(Daily, Time(2, 30)), "30 2 * * *"),
        (partial(Daily, Time(2, 30, 15)), "15 30 2 * * *"),
        (partial(Weekly, ("sunday", "mon"), Time(2, 30)), "30 2 * * 0,1"),
        (partial(Weekly, (Weekday.SATURDAY,), Time(0)), "0 0 * * 6"),
        (partial(Monthly, 30, Time(2, 30)), "30 2 30 * *"),
    ],
)
def test_a_typed_pattern_has_the_cron_expression_of_the_same_slots(
    make: partial[Any], cron: str, dst_gap: str, dst_fold: str
):
    """Also where the clock is put forward, on 30 March, and back, on 26 October."""
    where = {"timezone": BERLIN, "dst_gap": dst_gap, "dst_fold": dst_fold}
    pattern = make(**where)
    same = Cron(cron, seconds=len(cron.split()) == 6, **where)
    start, end = at("2025-01-25T00:00Z"), at("2025-11-03T00:00Z")

    assert pattern.cron_text == cron
    assert pattern.between(start, end) == same.between(start, end)


@pytest.mark.mission("H2")
@pytest.mark.parametrize(
    ("make", "problems"),
    [
        (lambda: Hourly(60, -1), [
            "minute 60 is outside 0-59; give a whole number from 0 to 59",
            "second -1 is outside 0-59; give a whole number from 0 to 59",
        ]),
        (lambda: Hourly(True), ["minute True is outside 0-59; give a whole number from 0 to 59"]),
        (lambda: Daily("noon"), ['time "noon" is no time of day; write it as "09:30" or '
                                 '"09:30:00"']),
        (lambda: Daily(9), ["time 9 is no time of day; give a datetime.time, as in time(9, 30)"]),
        (lambda: Daily(Time(9, 0, 0, 1)), ['time "09:00:00.000001" is not a plain time; give whole '
                                           "seconds, and the zone as timezone"]),
        (lambda: Daily(Time(9, tzinfo=UTC)), ['time "09:00:00+00:00" is not a plain time; give '
                                              "whole seconds, and the zone as timezone"]),
        (lambda: Weekly([], Time(9)), ["days [] is empty; name each wanted day once"]),
        (lambda: Weekly(["monday", "funday", 3], "x"), [
            'days "funday" is no weekday; use ' + ", ".join(Weekday),
            "days 3 is no weekday; use " + ", ".join(Weekday),
            'time "x" is no time of day; write it as "09:30" or "09:30:00"',
        ]),
        (lambda: Weekly(5, Time(9)), ["days 5 is no weekday; use " + ", ".join(Weekday)]),
        (lambda: Weekly(["monday", Weekday.MONDAY], Time(9)), [
            "days ['monday', <Weekday.MONDAY: 'monday'>] names a day twice; "
            "name each wanted day once"
        ]),
        (lambda: Monthly(0, None), [
            "day 0 is outside 1-31; give a whole number from 1 to 31",
            "time None is no time of day; give a datetime.time, as in time(9, 30)",
        ]),
        (lambda: Monthly(32, Time(9)), ["day 32 is outside 1-31; give a whole number from 1 to "
                                        "31"]),
    ],
)  # fmt: skip
def test_the_typed_patterns_are_validated_when_they_are_made(make: Any, problems: list[str]):
    with pytest.raises(InvalidRecurrence) as caught:
        make()

    assert [str(problem) for problem in caught.value.problems] == problems
    assert caught.value.text in ("hourly", "daily", "weekly", "monthly")


@pytest.mark.parametrize("edge", [0, 59])
def test_the_edges_of_an_hour_are_taken(edge: int):
    assert Hourly(edge, edge).fields.minute.values == (edge,)


def test_one_weekday_may_be_given_as_a_word():
    assert Weekly("monday", Time(9)).days == (Weekday.MONDAY,)


# The integer core


def test_bounds_are_kept_to_the_microsecond():
    slots = BoundedSlots(EvenSlots(0, 1), 10, 20)

    assert [slots.after(instant) for instant in (-5, 8, 9, 10, 19, 20)] == [
        10,
        10,
        10,
        11,
        20,
        None,
    ]
    assert [slots.at_or_before(instant) for instant in (9, 10, 20, 25)] == [None, 10, 20, 20]


def test_even_slots_end_with_the_last_instant_there_is():
    slots = EvenSlots(LATEST - 10, 5)

    assert [slots.after(LATEST - 11), slots.after(LATEST - 6), slots.after(LATEST - 5)] == [
        LATEST - 10,
        LATEST - 5,
        LATEST,
    ]
    assert slots.after(LATEST) is None


def test_a_start_is_there_even_if_the_others_know_nothing_of_it():
    slots = StartedSlots(OneSlot(50), 10)

    assert [slots.after(instant) for instant in (9, 10, 50)] == [10, 50, None]
    assert [slots.at_or_before(instant) for instant in (9, 10, 49, 50)] == [None, 10, 10, 50]


def test_slots_between_stops_where_the_caller_stops():
    found = slots_between(Cron("* * * * *").slots, us("2025-01-01T00:00Z"), us("9999-01-01T00:00Z"))

    assert next(found) == us("2025-01-01T00:01Z")
    assert next(found) == us("2025-01-01T00:02Z")


def test_equal_recurrences_share_what_was_worked_out():
    assert Cron("1 2 3 * *").slots is Cron("1  2 3 * *", timezone="UTC").slots
    assert Cron("1 2 3 * *").slots is not Cron("1 2 3 * *", dst_gap="skip").slots


def test_a_slot_asked_for_again_or_backwards_is_the_same():
    slots = Cron("17 * * * *", timezone="Europe/Paris").slots
    start = us("2025-10-25T00:00Z")
    forward = list(slots_between(slots, start, us("2025-10-28T00:00Z")))

    assert len(forward) == 72
    assert [slots.after(slot - 1) for slot in reversed(forward)] == forward[::-1]


@pytest.mark.parametrize(
    "slots",
    [
        OneSlot(50),
        EvenSlots(50, 7),
        BoundedSlots(EvenSlots(-500, 7), 20, 60),
        StartedSlots(EvenSlots(-500, 7), 33),
        StartedSlots(EvenSlots(40, 7), 33),
        Every("1d", created_at=at("1970-01-01T00:00Z")).slots,
    ],
    ids=lambda slots: type(slots).__name__,
)
def test_counted_slots_are_as_many_as_those_named_one_by_one(slots: Slots):
    edges = [-100, 19, 20, 32, 33, 34, 49, 50, 51, 59, 60, 61, 400]

    for after in edges:
        for until in edges:
            assert slots.count(after, until) == len(list(slots_between(slots, after, until)))


def test_no_slot_beyond_the_end_of_time_is_counted():
    assert EvenSlots(LATEST - 5, 2).count(LATEST - 4, LATEST + 100) == 2


@pytest.mark.parametrize("text", ["* * * * * *", "*/7 3-9 * * 1-5", "30 1,2,3 * * *", "0 0 29 2 *"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Australia/Lord_Howe"])
def test_decades_are_counted_as_the_sum_of_their_days(text: str, zone: str):
    slots = Cron(text, timezone=zone, seconds=text.count(" ") == 5).slots
    start, days = us("2011-06-01T00:30Z"), 15 * 365

    total = slots.count(start, start + days * DAY)

    assert total > 0
    assert total == sum(
        slots.count(start + day * DAY, start + (day + 1) * DAY) for day in range(days)
    )


@pytest.mark.parametrize(
    ("every", "anchor", "slots"),
    [
        (Every("1h"), "2025-01-01T10:20Z", ["2025-01-01T11:20Z", "2025-01-01T12:20Z"]),
        (Every("1d"), "2025-01-01T10:20Z", ["2025-01-02T10:20Z", "2025-01-03T10:20Z"]),
        (
            Every("1h", start_at="2025-01-01T00:00Z"),
            "2025-01-01T10:20Z",
            ["2025-01-01T11:00Z", "2025-01-01T12:00Z"],
        ),
        (Every("1h", anchor="completion"), "2025-01-01T10:20Z", ["2025-01-01T11:20Z"]),
        (Every("monthly", anchor="completion"), "2025-01-31T10:20Z", ["2025-02-28T10:20Z"]),
        (
            Every("1h", anchor="completion", start_at="2025-01-01T12:00Z"),
            "2025-01-01T10:20Z",
            ["2025-01-01T12:00Z"],
        ),
        (
            Every("1h", anchor="completion", start_at="2025-01-01T10:20Z"),
            "2025-01-01T10:20Z",
            ["2025-01-01T11:20Z"],
        ),
        (
            Every("1h", anchor="completion", end_at="2025-01-01T11:00Z"),
            "2025-01-01T10:20Z",
            [],
        ),
        (Every("1h", anchor="completion"), "9999-12-31T23:30Z", []),
        (After("90m"), "2025-01-01T10:20Z", ["2025-01-01T11:50Z"]),
        (Daily("11:00"), "2025-01-01T10:20Z", ["2025-01-01T11:00Z", "2025-01-02T11:00Z"]),
    ],
)
def test_slots_are_counted_from_an_instant_where_they_are_counted_from_any(
    every: Recurrence, anchor: str, slots: list[str]
):
    found = slots_between(every.slots_from(us(anchor)), us(anchor), LATEST)

    assert texts([to_datetime(slot) for slot in islice(found, 2)]) == slots


@pytest.mark.parametrize(("text", "days"), [("36h", 1.5), ("2w", 14), ("monthly", 30), ("5d", 5)])
def test_an_interval_is_nominally_so_many_days(text: str, days: float):
    assert Every(text).interval.nominal == days * DAY


@pytest.mark.parametrize(
    ("every", "before"),
    [
        (Every("7h"), ["2024-12-31T13:20Z", "2024-12-31T20:20Z", "2025-01-01T03:20Z"]),
        (Every("3d"), ["2024-12-23T10:20Z", "2024-12-26T10:20Z", "2024-12-29T10:20Z"]),
        (Every("monthly"), ["2024-10-01T10:20Z", "2024-11-01T10:20Z", "2024-12-01T10:20Z"]),
        (Every("1h", start_at="2025-01-01T09:00Z"), ["2025-01-01T09:00Z", "2025-01-01T10:00Z"]),
        (Daily("10:20"), ["2024-12-29T10:20Z", "2024-12-30T10:20Z", "2024-12-31T10:20Z"]),
    ],
)
def test_a_grid_goes_on_into_the_past_through_its_anchor(every: Recurrence, before: list[str]):
    anchor = us("2025-01-01T10:20Z")
    slots = every.slots_through(anchor)

    past = list(slots_between(slots, us("2024-06-01T00:00Z"), anchor - 1))

    assert texts([to_datetime(slot) for slot in past[-3:]]) == before
    assert slots.after(anchor) == every.slots_from(anchor).after(anchor)
