"""Cron expressions as recurrences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quarterjack.errors import quote
from quarterjack.times.cached_property import cached_property
from quarterjack.times.checks import check_choice, check_text, invalid
from quarterjack.times.cron_text import DIALECTS, needs_key, read_cron
from quarterjack.times.fields import Fields
from quarterjack.times.recurrence import WallTimeRecurrence


@dataclass(frozen=True, eq=False, repr=False)
class Cron(WallTimeRecurrence):
    """`Cron("30 2 * * *", timezone="America/New_York")`.

    An expression with `H` has no slots until it knows the schedule's key; `app.schedule` fills it
    in.
    """

    expression: str
    dialect: str = field(default="standard", kw_only=True)
    seconds: bool = field(default=False, kw_only=True)
    key: str | None = field(default=None, kw_only=True)

    @cached_property
    def fields(self) -> Fields:
        hashed = needs_key(self.expression)
        if self.key is None and hashed:
            reason = "has H, which needs the schedule's key"
            remedy = 'pass the key, as in Cron("H 3 * * *", key="nightly-backup")'
            raise invalid("cron", self.expression, reason, remedy)
        return self._read(self.key if hashed else None)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"cron": self.expression}
        if self.dialect != "standard":
            data["dialect"] = self.dialect
        if self.seconds:
            data["seconds"] = True
        if self.key is not None and needs_key(self.expression):
            data["key"] = self.key
        return data | self._common_json()

    def _check(self) -> None:
        check_choice(self.dialect, DIALECTS, "dialect")
        for name, kind, wanted in (("seconds", bool, "true or false"), ("key", str, "text")):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise invalid(name, value, f"is not {wanted}", f"use {wanted}")
        self._set(expression=" ".join(check_text(self.expression, "cron").split()))
        self._read(key=None)

    def _read(self, key: str | None) -> Fields:
        return read_cron(self.expression, dialect=self.dialect, seconds=bool(self.seconds), key=key)

    def _subject(self) -> str:
        return f"cron {quote(self.expression)}"
