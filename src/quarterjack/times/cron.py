"""Cron expressions as recurrences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from quarterjack.errors import quote
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import check_choice, check_text, invalid
from quarterjack.times.cron_text import DIALECTS, needs_key, read_cron
from quarterjack.times.fields import Fields
from quarterjack.times.recurrence import WallTimeRecurrence
from quarterjack.times.zones import zone_name

DAY_RULES = ("or", "and")
_ZONE_IN_FRONT = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(\S.*)", re.IGNORECASE)


@dataclass(frozen=True, eq=False, repr=False)
class Cron(WallTimeRecurrence):
    """`Cron("30 2 * * *", timezone="America/New_York")`; of a list, the union of its expressions.

    An expression with `H` has no slots until it knows the schedule's key; `app.schedule` fills it
    in. With `day_rule="and"` day of month and day of week must both match.
    """

    expression: str | Sequence[str]
    dialect: str = field(default="standard", kw_only=True)
    seconds: bool = field(default=False, kw_only=True)
    day_rule: str = field(default="or", kw_only=True)
    key: str | None = field(default=None, kw_only=True)

    def __new__(cls, expression: Any = "", **others: Any) -> Any:
        if isinstance(expression, list | tuple):
            from quarterjack.times.union import read_list

            return read_list("cron", expression, lambda text: cls(text, **others))
        return super().__new__(cls)

    @cached_property
    def fields(self) -> Fields:
        hashed = needs_key(self.text)
        if self.key is None and hashed:
            reason = "has H, which needs the schedule's key"
            remedy = 'give one, as in key="nightly-backup" or --key nightly-backup'
            raise invalid("cron", self.text, reason, remedy)
        return self._read(self.key if hashed else None)

    @property
    def text(self) -> str:
        return cast(str, self.expression)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"cron": self.text}
        if self.dialect != "standard":
            data["dialect"] = self.dialect
        if self.seconds:
            data["seconds"] = True
        if self.day_rule != "or":
            data["day_rule"] = self.day_rule
        if self.key is not None and needs_key(self.text):
            data["key"] = self.key
        return data | self._common_json()

    def _check(self) -> None:
        check_choice(self.dialect, DIALECTS, "dialect")
        check_choice(self.day_rule, DAY_RULES, "day_rule")
        for name, kind, wanted in (("seconds", bool, "true or false"), ("key", str, "text")):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise invalid(name, value, f"is not {wanted}", f"use {wanted}")
        if self.dialect == "posix" and self.day_rule != "or":
            raise invalid("day_rule", self.day_rule, "is not POSIX", "use dialect: standard")
        if isinstance(self.expression, list | tuple):  # of equal ones, else `__new__` made a union
            self._set(expression=self.expression[0])
        self._set(expression=" ".join(check_text(self.expression, "cron").split()))
        if found := _ZONE_IN_FRONT.fullmatch(self.text):
            self._take_zone(found[1])
            self._set(expression=found[2])
        self._read(key=None)

    def _take_zone(self, name: str) -> None:
        if self.dialect == "posix":
            raise invalid("cron", self.text, "names a zone, which is not POSIX", "set timezone")
        own = zone_name(name)
        if self.timezone is not None and zone_name(self.timezone) != own:
            reason = f"names another zone than timezone {quote(self.timezone)}"
            raise invalid("cron", self.text, reason, "name the zone once")
        self._set(timezone=own)

    def _read(self, key: str | None) -> Fields:
        return read_cron(
            self.text,
            dialect=self.dialect,
            seconds=bool(self.seconds),
            key=key,
            both_days=self.day_rule == "and",
        )

    def _subject(self) -> str:
        return f"cron {quote(self.expression)}"
