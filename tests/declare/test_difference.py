"""The difference between a declaration and the stored schedules, without a store."""

from __future__ import annotations

from typing import Any

import pytest

from harness.declare.declarations import declared_values
from harness.rules.values import at, specification
from quarterjack import rules
from quarterjack.declare.difference import difference, field_changes
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import Limits, Schedule, Specification, Status, Unreadable
from quarterjack.store.types import Difference, StoredSchedule

NOW = at("08:00")
HOURLY = {"every": "1h", "command": ["x"]}
ONCE = {"at": "2026-11-16T07:00:00Z", "command": ["x"], "delete_after_run": True}


def stored(
    key: str,
    owner: str = "values",
    origin: str = "declaration",
    *,
    deleted_at: int | None = None,
    fields: dict[str, Any] = HOURLY,
    **state: Any,
) -> StoredSchedule:
    schedule = rules.create(
        1, key, specification(key, **fields), NOW, active=0, limits=Limits()
    )._replace(**state)
    return StoredSchedule(schedule, None, owner, origin, NOW, deleted_at)


def keys(found: Difference) -> tuple[list[str], list[str], list[str]]:
    """Of the schedules that are added, changed and removed."""
    return (
        [each.key for each in found.added],
        [schedule.key for schedule, _ in found.changed],
        [schedule.key for schedule in found.removed],
    )


def compare(
    schedules: dict[str, Any], *found: StoredSchedule, only_missing: bool = False, **settings: Any
) -> tuple[list[str], list[str], list[str]]:
    declaration = declared_values(schedules=schedules, **settings)
    return keys(difference(declaration, found, only_missing=only_missing))


def test_schedules_are_added_changed_and_removed():
    declaration = declared_values(
        schedules={"same": HOURLY, "edited": HOURLY | {"every": "2h"}, "new": HOURLY}
    )
    before = [stored(key) for key in ("same", "edited", "old")]

    found = difference(declaration, before)

    assert keys(found) == (["new"], ["edited"], ["old"])
    (new,) = found.added
    assert (new.specification, new.owner, new.origin) == (
        declaration.specifications["new"],
        "values",
        "declaration",
    )
    assert found.changed == [(before[1].schedule, declaration.specifications["edited"])]


def test_only_missing_schedules_are_added_on_request():
    declared = {"edited": HOURLY | {"every": "2h"}, "new": HOURLY}

    found = compare(declared, stored("edited"), stored("old"), only_missing=True)

    assert found == (["new"], [], [])


def test_schedules_of_others_are_not_removed():
    others = stored("theirs", owner="other"), stored("made by hand", origin="cli")

    assert compare({}, *others) == ([], [], [])


@pytest.mark.parametrize(
    ("other", "owner"),
    [
        (stored("a", owner="other"), 'the declaration "other"'),
        (stored("a", origin="cli"), "people"),
    ],
)
@pytest.mark.parametrize("only_missing", [False, True])
def test_the_key_of_a_schedule_of_others_is_refused(
    other: StoredSchedule, owner: str, only_missing: bool
):
    with pytest.raises(Conflict) as error:
        compare({"a": HOURLY}, other, only_missing=only_missing)

    assert str(error.value) == (
        f'values.schedules.a: schedule "a" belongs to {owner}; '
        "use another name, or delete that schedule first"
    )


def test_a_deleted_schedule_is_added_again():
    assert compare({"a": HOURLY}, stored("a", deleted_at=NOW)) == (["a"], [], [])


def test_the_key_of_a_deleted_schedule_of_others_is_free():
    assert compare({"a": HOURLY}, stored("a", origin="cli", deleted_at=NOW)) == (["a"], [], [])


@pytest.mark.mission("D12")
def test_a_one_shot_that_fired_and_was_deleted_is_not_added_again():
    fired = stored("once", fields=ONCE, deleted_at=NOW, last_slot=at("07:00"))

    assert compare({"once": ONCE}, fired) == ([], [], [])


@pytest.mark.mission("D12")
@pytest.mark.parametrize(
    ("before", "declared"),
    [
        (stored("once", fields=ONCE, deleted_at=NOW), ONCE),
        (
            stored("once", fields=ONCE, deleted_at=NOW, last_slot=at("07:00")),
            ONCE | {"at": "2026-11-16T09:00:00Z"},
        ),
        (
            stored("once", fields=ONCE, deleted_at=NOW, last_slot=at("07:00")),
            ONCE | {"delete_after_run": False},
        ),
    ],
    ids=["that never fired", "with another instant", "that would have stayed"],
)
def test_a_deleted_one_shot_is_added_again(before: StoredSchedule, declared: dict[str, Any]):
    assert compare({"once": declared}, before) == (["once"], [], [])


@pytest.mark.mission("D10")
def test_another_preset_is_a_change_even_if_all_fields_are_equal():
    declared = HOURLY | {"max_consecutive_errors": 10}
    before = stored("a", fields=declared)

    assert compare({"a": declared}, before) == ([], [], [])
    assert compare({"a": declared}, before, preset="agent") == ([], ["a"], [])


@pytest.mark.parametrize(
    "state",
    [{"status": Status.INVALID}, {"specification": Unreadable(ValueError("corrupt"))}],
    ids=["invalid", "unreadable"],
)
def test_a_schedule_that_does_not_work_is_applied_again(state: dict[str, Any]):
    assert compare({"a": HOURLY}, stored("a", **state)) == ([], ["a"], [])


def test_windows_of_new_and_changed_schedules_must_admit_a_slot():
    night = {"cron": "0 3 * * *", "command": ["x"]}
    closed = night | {"only_between": "08:00-18:00"}

    with pytest.raises(InvalidSpecification) as error:
        compare({"new": closed, "edited": closed}, stored("edited", fields=night))

    assert [(problem.place, problem.field) for problem in error.value.problems] == [
        ('values.schedules.new: schedule "new"', "window"),
        ('values.schedules.edited: schedule "edited"', "window"),
    ]


def test_the_window_of_an_unchanged_schedule_is_not_checked_again():
    night = {"cron": "0 3 * * *", "command": ["x"], "only_between": "08:00-09:00"}
    declaration = declared_values(schedules={"a": night})
    accepted = stored("a", fields=night | {"on_constraint": "defer"})
    specification = declaration.specifications["a"]
    schedule = accepted.schedule._replace(specification=specification)

    assert keys(difference(declaration, [accepted._replace(schedule=schedule)])) == ([], [], [])
    with pytest.raises(InvalidSpecification, match="admits no slot"):
        difference(declaration, [])


def edited(**fields: Any) -> Specification:
    return declared_values(schedules={"a": HOURLY | fields}).specifications["a"]


def test_field_changes_name_the_fields_that_differ():
    changes = field_changes(stored("a").schedule, edited(every="2h", description="new"))

    assert list(changes) == [("description", None, "new"), ("every", "1h", "2h")]


def test_every_field_of_an_unreadable_schedule_changes():
    schedule: Schedule = stored("a", specification=Unreadable(ValueError("corrupt"))).schedule

    changes = {name: values for name, *values in field_changes(schedule, edited())}

    assert changes["every"] == [None, "1h"]
    assert changes["command"] == [None, ["x"]]
