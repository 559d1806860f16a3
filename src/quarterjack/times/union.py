"""Several recurrences as one: `cron: ["0 9 * * *", "30 12 * * *"]`, `at: [...]`.

- `Cron(["0 9 * * *", "30 12 * * *"], timezone=...)`, `At([first, second])`, `Cron(a) | Cron(b)`,
  `parse({"cron": [...]})` and `union_of(parts)` give a `Union` of `Cron` values, or of `At` values.
  A list of one, or of equal parts, gives that part itself.
- All parts have the same dialect, `seconds`, `day_rule`, zone, DST words and bounds, which the
  union has as well (`union.timezone`); `with_defaults` fills them in for all.
- `parts` are in the order in which they were written, which does not matter for equality. `slots`
  names each instant once. `to_json()` is that of a part, with a list in its first field.
- A union is neither a `Cron` nor an `At`: several instants are no one-shot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self, cast

from quarterjack.errors import Problems
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import invalid
from quarterjack.times.instants import EARLIEST
from quarterjack.times.merged_slots import InstantSlots, fixed_wall_times, merged_slots
from quarterjack.times.recurrence import Recurrence, WallTimeRecurrence
from quarterjack.times.slots import Slots, WallTimeSlots

PARTS_MAX = {"cron": 20, "at": 1000}


def union_of(parts: Sequence[Recurrence]) -> Recurrence:
    """The parts as one recurrence; a part itself if all are equal."""
    distinct = {repr(part.to_json()): part for part in parts}
    return Union(tuple(distinct.values())) if len(distinct) != 1 else parts[0]


def read_list(name: str, values: Sequence[Any], read: Callable[[Any], Recurrence]) -> Recurrence:
    """The union of what each value of a list says, with the problems of all."""
    most = PARTS_MAX[name]
    if not 1 <= len(values) <= most:
        reason = f"is a list of {len(values)}" if values else "is an empty list"
        raise invalid(name, list(values), reason, f"give 1 to {most}")
    problems = Problems()
    parts = []
    for value in values:
        with problems:
            if isinstance(value, list | tuple):
                raise invalid(name, list(value), "is a list within a list", "write one list")
            parts.append(read(value))
    problems.raise_if_any()
    return union_of(parts)


@dataclass(frozen=True, eq=False, repr=False)
class Union(Recurrence):
    """The slots of all parts, each instant once. Made by `union_of`."""

    parts: tuple[Recurrence, ...]

    def __post_init__(self) -> None:
        _check(self.parts)

    @cached_property
    def slots(self) -> Slots:
        crons = self._crons
        if not crons:
            found = (part.slots.after(EARLIEST - 1) for part in self.parts)
            return InstantSlots([slot for slot in found if slot is not None])
        fields = tuple(cron.fields for cron in crons)
        return crons[0].within_bounds(merged_slots(fields, **self._zone_rules))

    @property
    def wall_time_slots(self) -> WallTimeSlots | None:
        """The slots without bounds, if they are wall times, which daylight saving affects."""
        fields = [cron.fields for cron in self._crons]
        fixed = [each for each in fields if not each.follow_real_time]
        return fixed_wall_times(fixed, **self._zone_rules) if fixed else None

    @property
    def of_crons(self) -> bool:
        return bool(self._crons)

    @property
    def timezone(self) -> str | None:
        return cast(str | None, self._common("timezone"))

    @property
    def dst_gap(self) -> str | None:
        return cast(str | None, self._common("dst_gap"))

    @property
    def dst_fold(self) -> str | None:
        return cast(str | None, self._common("dst_fold"))

    @property
    def start_at(self) -> datetime | None:
        return cast(datetime | None, self._common("start_at"))

    @property
    def end_at(self) -> datetime | None:
        return cast(datetime | None, self._common("end_at"))

    def with_defaults(self, **defaults: Any) -> Self:
        return type(self)(tuple(part.with_defaults(**defaults) for part in self.parts))

    def describe(self) -> str:
        from quarterjack.times.describe import union_phrase

        if not self._crons:
            return f"once each at {' and '.join(part.to_json()['at'] for part in self.parts)}"
        return self._crons[0].completed(union_phrase([cron.fields for cron in self._crons]))

    def to_json(self) -> dict[str, Any]:
        bodies = [part.to_json() for part in self.parts]
        name = next(iter(bodies[0]))
        return bodies[0] | {name: [body[name] for body in bodies]}

    @property
    def _crons(self) -> list[WallTimeRecurrence]:
        return [part for part in self.parts if isinstance(part, WallTimeRecurrence)]

    @property
    def _zone_rules(self) -> dict[str, Any]:
        return {
            "timezone": self.timezone or "UTC",
            "gap_after": self.dst_gap != "skip",
            "fold_twice": self.dst_fold == "twice",
        }

    def _common(self, name: str) -> object:
        return getattr(self.parts[0], name, None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Union) and set(other.parts) == set(self.parts)

    def __hash__(self) -> int:
        return hash(frozenset(self.parts))

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))


def _check(parts: tuple[Recurrence, ...]) -> None:
    names = {next(iter(part.to_json())) for part in parts}
    if len(names) != 1 or not names <= PARTS_MAX.keys():
        shown = " | ".join(type(part).__name__ for part in parts) or None
        raise invalid("recurrence", shown, "cannot be one recurrence", "use several Cron or At")
    (name,) = names
    if len(parts) > (most := PARTS_MAX[name]):
        raise invalid(name, len(parts), "are too many in one list", f"use at most {most}")
    rules = [{key: value for key, value in part.to_json().items() if key != name} for part in parts]
    for field in sorted({key for rule in rules for key in rule}):
        values = {rule.get(field) for rule in rules}
        if len(values) > 1:
            shown = " and ".join(sorted(str(value) for value in values))
            raise invalid(field, shown, "differ within one list", f"use the same {field} for all")
