"""What has to be added, changed and removed to make the stored schedules equal to a declaration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from quarterjack.control import DECLARATION as ORIGIN
from quarterjack.declare.declaration import Declaration
from quarterjack.errors import Conflict, Invalid, InvalidSpecification, Problems
from quarterjack.rules import Schedule, Specification, Status, Unreadable
from quarterjack.rules.definition.capabilities import Capabilities, check_runnable
from quarterjack.rules.definition.combinations import check_window
from quarterjack.store.types import Difference, NewSchedule, StoredSchedule


def difference(
    declaration: Declaration,
    stored: Sequence[StoredSchedule],
    workers: Sequence[Capabilities | None] = (),
    *,
    only_missing: bool = False,
) -> Difference:
    """The difference to these stored schedules; with `only_missing` only what has to be added.
    `workers` says what each live worker can run."""
    owner = declaration.name
    live = {each.schedule.key: each for each in stored if each.deleted_at is None}
    deleted = {each.schedule.key: each for each in stored if each.deleted_at is not None}
    _refuse_keys_of_others(declaration, live)
    added: list[NewSchedule] = []
    changed: list[tuple[Schedule, Specification]] = []
    for key, wanted in declaration.specifications.items():
        if key not in live:
            if not _has_fired_and_gone(deleted.get(key), wanted):
                added.append(NewSchedule(key, wanted, owner, ORIGIN))
        elif not only_missing and not _is_current(live[key].schedule, wanted):
            changed.append((live[key].schedule, wanted))
    new = {each.key: each.specification for each in added}
    edited = {schedule.key: wanted for schedule, wanted in changed}
    _check_new(declaration, new | edited, workers)
    removed = [
        each.schedule
        for key, each in live.items()
        if _belongs_to(owner, each) and key not in declaration.specifications and not only_missing
    ]
    return Difference(added, changed, removed)


def _refuse_keys_of_others(declaration: Declaration, live: Mapping[str, StoredSchedule]) -> None:
    for key, each in live.items():
        if key in declaration.specifications and not _belongs_to(declaration.name, each):
            whose = f'the declaration "{each.owner}"' if each.origin == ORIGIN else "people"
            remedy = "use another name, or delete that schedule first"
            place = declaration.source.place("schedules", key)
            raise Conflict(f'{place}: schedule "{key}" belongs to {whose}; {remedy}')


def _check_new(
    declaration: Declaration,
    specifications: Mapping[str, Specification],
    workers: Sequence[Capabilities | None],
) -> None:
    problems = Problems(InvalidSpecification)
    for key, specification in specifications.items():
        for check in (check_window, partial(check_runnable, workers=workers)):
            try:
                check(specification)
            except Invalid as error:
                found = InvalidSpecification(f'schedule "{key}"', error.problems)
                problems.note(found.within(declaration.source.place("schedules", key)))
    problems.raise_if_any(declaration.source.name)


def _belongs_to(owner: str, stored: StoredSchedule) -> bool:
    return stored.origin == ORIGIN and stored.owner == owner


def _is_current(schedule: Schedule, wanted: Specification) -> bool:
    return _is_same(schedule, wanted) and schedule.specification.preset == wanted.preset


def _is_same(schedule: Schedule, wanted: Specification) -> bool:
    """An invalid schedule is never the same, so that its definition is tried again."""
    if schedule.status is Status.INVALID or isinstance(schedule.specification, Unreadable):
        return False
    return schedule.specification.configuration_hash == wanted.configuration_hash


def _has_fired_and_gone(deleted: StoredSchedule | None, wanted: Specification) -> bool:
    """Has this very schedule fired, and been deleted after its run?"""
    if deleted is None or not wanted.delete_after_run or deleted.schedule.last_slot is None:
        return False
    return _is_same(deleted.schedule, wanted)


def field_changes(
    schedule: Schedule, wanted: Specification
) -> Iterator[tuple[str, object, object]]:
    """The fields in which a definition differs from the stored one, with both values."""
    stored = schedule.specification
    before = {} if isinstance(stored, Unreadable) else stored.to_json()
    after = wanted.to_json()
    for field in sorted(before.keys() | after.keys()):
        if before.get(field) != after.get(field):
            yield field, before.get(field), after.get(field)
