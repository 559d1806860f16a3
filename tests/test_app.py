"""`Quarterjack`: what its methods register, and what they leave unchanged."""

from __future__ import annotations

import asyncio
import inspect
from datetime import time, timedelta
from typing import Any

import pytest

from quarterjack import Cron, Daily, Depends, Every, Hourly, Monthly, Quarterjack, Weekday, Weekly
from quarterjack.errors import Invalid, InvalidRecurrence
from quarterjack.rules import Specification


def only_schedule(app: Quarterjack) -> tuple[str, Specification]:
    ((key, specification),) = app.declaration().specifications.items()
    return key, specification


def problems(app: Quarterjack) -> list[str]:
    """Without the places."""
    with pytest.raises(Invalid) as error:
        app.declaration()
    each = (str(problem).split(": ", 1)[1] for problem in error.value.problems)
    return [text.removeprefix('schedule "x": ') for text in each]


def test_a_decorated_function_is_the_function_itself():
    app = Quarterjack()

    async def add(a: int, b: int = 2) -> int:
        return a + b

    kwargs = {"a": 1}
    decorators = [
        app.task,
        app.task("other name"),
        app.schedule("first", "1h", kwargs=kwargs),
        app.cron("0 3 * * *", kwargs=kwargs),
    ]

    assert all(decorate(add) is add for decorate in decorators)
    assert asyncio.run(add(1)) == 3
    assert list(app.declaration().specifications) == ["first", "add"]
    assert list(app.source.registry.tasks) == ["add", "other name"]


def test_the_three_forms_of_a_schedule_declare_the_same():
    read = []
    for form in ("call", "name", "decorator"):
        app = Quarterjack()

        async def tick() -> None: ...

        if form == "decorator":
            app.schedule("x", Every("5m"), max_retries=2)(tick)
        else:  # a task may be registered after its schedule
            app.schedule("x", tick if form == "call" else "tick", Every("5m"), max_retries=2)
            app.task(tick)
        key, specification = only_schedule(app)
        read.append((key, specification.configuration_hash))

    assert read[0][0] == "x"
    assert read[0] == read[1] == read[2]


def test_the_short_forms_use_the_name_of_the_function_as_key():
    app = Quarterjack()

    @app.cron("0 9 * * MON-FRI", timezone="Europe/Berlin")
    async def report() -> None: ...

    @app.every(timedelta(minutes=90))
    async def sync() -> None: ...

    @app.daily(time(9, 30))
    async def mail() -> None: ...

    declared = app.declaration().specifications
    assert {key: each.recurrence.describe() for key, each in declared.items()} == {
        "report": "Monday to Friday at 09:00 (Europe/Berlin)",
        "sync": "every 1 hour and 30 minutes",
        "mail": "every day at 09:30",
    }


@pytest.mark.parametrize(
    ("when", "described"),
    [
        ("0 3 * * *", "every day at 03:00"),
        ("5m", "every 5 minutes"),
        ("daily", "every day"),
        ("2026-12-01T00:00:00Z", "once at 2026-12-01T00:00:00Z"),
        ({"every": "5m"}, "every 5 minutes"),
        ({"every": timedelta(minutes=5)}, "every 5 minutes"),
        ({"daily": {"time": "09:00"}}, "every day at 09:00"),
        (Cron("H 3 * * *"), None),
    ],
)
def test_a_recurrence_may_be_written_in_every_spelling(when: Any, described: str | None):
    app = Quarterjack()
    app.schedule("x", when, command=["true"])

    _, specification = only_schedule(app)

    assert described is None or specification.recurrence.describe() == described


@pytest.mark.mission("H2")
@pytest.mark.parametrize(
    "when",
    [
        Every(seconds=30, minutes=1),
        Hourly(minute=15, second=30),
        Daily(time(3)),
        Weekly([Weekday.MONDAY, Weekday.FRIDAY], time(9)),
        Monthly(15, time(12)),
    ],
)
def test_typed_patterns_declare_a_schedule(when: Any):
    app = Quarterjack()
    app.schedule("x", when, command=["true"])

    assert only_schedule(app)[1].recurrence == when.with_defaults(
        timezone="UTC", dst_gap="after", dst_fold="once"
    )


@pytest.mark.mission("H2")
@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Every(seconds=86401),
        lambda: Every(minutes=0),
        lambda: Every(hours=169),
        lambda: Every(days=366),
        lambda: Hourly(minute=60),
        lambda: Hourly(minute=1, second=-1),
        lambda: Weekly([], time(9)),
        lambda: Weekly([Weekday.MONDAY, Weekday.MONDAY], time(9)),
        lambda: Monthly(32, time(9)),
        lambda: Daily("24:00"),
    ],
)
def test_typed_patterns_are_validated_when_they_are_constructed(wrong: Any):
    with pytest.raises(InvalidRecurrence):
        wrong()


@pytest.mark.mission("H2")
@pytest.mark.parametrize("seconds", [0, 0.5, 61, True, -1])
def test_a_check_interval_outside_1_to_60_seconds_is_a_problem(seconds: Any):
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    app = Quarterjack(check_interval=seconds)

    with pytest.raises(Invalid) as error:
        app.declaration()

    assert str(error.value).endswith(
        f"test_app.py:{line}: check_interval {seconds} is outside 1-60; give seconds from 1 to 60"
    )


@pytest.mark.mission("H2")
def test_a_check_interval_limits_the_time_between_looks_at_the_store():
    assert Quarterjack(check_interval=1).declaration().limits.timer_clamp_ms == 1000
    assert Quarterjack(check_interval=60).declaration().limits.timer_clamp_ms == 60_000
    assert Quarterjack(preset="horsies").declaration().limits.timer_clamp_ms == 1000
    twice = Quarterjack(check_interval=5, limits={"timer_clamp_ms": 5000})
    assert problems(twice) == [
        "check_interval 5 means the same as limits.timer_clamp_ms; give one of them"
    ]


def test_an_app_that_is_not_enabled_declares_its_schedules_as_paused():
    app = Quarterjack(enabled=False)
    app.schedule("x", "1h", command=["true"], enabled=True)

    assert only_schedule(app)[1].enabled is False


@pytest.mark.parametrize(
    ("when", "fields", "found"),
    [
        (Cron("0 3 * * *"), {}, ("UTC", "after", "once")),
        (Cron("0 3 * * *"), {"timezone": "Asia/Tokyo"}, ("Asia/Tokyo", "after", "once")),
        (Daily(time(3)), {"dst_gap": "skip", "dst_fold": "twice"}, ("UTC", "skip", "twice")),
        (Cron("0 3 * * *", timezone="Asia/Tokyo"), {}, ("Asia/Tokyo", "after", "once")),
        (
            Cron("0 3 * * *", timezone="Asia/Tokyo", dst_gap="skip"),
            {"timezone": "Asia/Tokyo", "dst_fold": "twice"},
            ("Asia/Tokyo", "skip", "twice"),
        ),
        ("0 3 * * *", {"timezone": "Asia/Tokyo"}, ("Asia/Tokyo", "after", "once")),
    ],
)
def test_a_schedule_fills_in_what_its_recurrence_leaves_open(
    when: Any, fields: dict[str, Any], found: tuple[str, str, str]
):
    app = Quarterjack()
    app.schedule("x", when, command=["true"], **fields)

    recurrence: Any = only_schedule(app)[1].recurrence

    assert (recurrence.timezone, recurrence.dst_gap, recurrence.dst_fold) == found


def test_what_neither_says_is_that_of_the_app():
    app = Quarterjack(preset="posix", timezone="Asia/Tokyo")
    app.schedule("x", Cron("0 3 * * *"), command=["true"])

    recurrence: Any = only_schedule(app)[1].recurrence

    assert (recurrence.timezone, recurrence.dst_gap, recurrence.dst_fold, recurrence.dialect) == (
        "Asia/Tokyo", "skip", "twice", "posix",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("when", "fields", "message"),
    [
        (
            Cron("0 3 * * *", timezone="Europe/Berlin"),
            {"timezone": "Asia/Tokyo"},
            'timezone "Asia/Tokyo" contradicts timezone "Europe/Berlin" of the recurrence; '
            "say it in one of the two",
        ),
        (
            {"cron": "0 3 * * *", "dst_gap": "skip"},
            {"dst_gap": "after"},
            'dst_gap "after" contradicts dst_gap "skip" of the recurrence; '
            "say it in one of the two",
        ),
        (
            Every("5m", anchor="completion"),
            {"anchor": "slot"},
            'anchor "slot" contradicts anchor "completion" of the recurrence; '
            "say it in one of the two",
        ),
        ("5m", {"every": "6m"}, 'every "6m" is given beside the recurrence "5m"; give one of them'),
        (
            "2026-12-01T00:00:00Z",
            {"every": "5m"},
            'every "5m" is given beside the recurrence "2026-12-01T00:00:00Z"; give one of them',
        ),
        ({"every": 300}, {}, 'every 300 has no unit; write "300s" or "300ms"'),
        (
            None,
            {},
            "recurrence None is not a recurrence; "
            'use Cron("0 9 * * *"), Every("5m"), Daily("09:00") or such text',
        ),
        (
            "2026-12-01T00:00:00",
            {},
            'at "2026-12-01T00:00:00" has no offset from UTC; '
            'append "Z" or an offset such as "+02:00"',
        ),
        ("0 25 * * *", {}, 'hour 25 is outside 0-23; did you mean "25 0 * * *"?'),
    ],
)
def test_a_wrong_or_contradicted_recurrence_is_a_problem(
    when: Any, fields: dict[str, Any], message: str
):
    app = Quarterjack()
    app.schedule("x", when, command=["true"], **fields)

    assert problems(app) == [message]


def test_the_queue_of_a_task_is_that_of_its_schedules():
    app = Quarterjack(queues=["default", "reports"])
    app.schedule("first", "report", "1h")
    app.schedule("second", "report", "1h", queue="default")

    @app.task(queue="reports")
    async def report() -> None: ...

    declared = app.declaration().specifications
    assert [declared[key].queue for key in ("first", "second")] == ["reports", "default"]


def test_a_schedule_without_a_task_names_another_kind_of_target():
    app = Quarterjack()
    app.schedule("a", "1h", prompt="Check the queue", model="small")
    app.schedule("b", "1h", command=["true"])

    declared = app.declaration().specifications
    assert [each.target.kind for each in declared.values()] == ["prompt", "command"]


def test_arguments_by_position_do_not_count_what_is_filled_in():
    app = Quarterjack()

    @app.schedule("x", "1h", args=[1, 2])
    async def task(session: object = Depends(object), a: int = 0, b: int = 0) -> None: ...

    assert only_schedule(app)[1].target.fields["args"] == [1, 2]
