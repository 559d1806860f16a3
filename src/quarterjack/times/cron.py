"""Cron as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quarterjack.errors import InvalidRecurrence, shown
from quarterjack.times.cron_text import DIALECTS, needs_key, read_cron
from quarterjack.times.fields import Fields
from quarterjack.times.lazily import lazily
from quarterjack.times.reading import read_text, read_word
from quarterjack.times.recurrence import WallRecurrence


@dataclass(frozen=True, eq=False, repr=False)
class Cron(WallRecurrence):
    """`Cron("30 2 * * *", timezone="America/New_York")`.

    With `H` it needs the schedule's key to name any slots; `app.schedule` fills that in.
    """

    expression: str
    dialect: str = field(default="standard", kw_only=True)
    seconds: bool = field(default=False, kw_only=True)
    key: str | None = field(default=None, kw_only=True)

    @lazily
    def fields(self) -> Fields:
        hashed = needs_key(self.expression)
        if self.key is None and hashed:
            reason = "has H, which needs the schedule's key"
            remedy = 'give the key, as in Cron("H 3 * * *", key="nightly-backup")'
            raise InvalidRecurrence.because("cron", self.expression, reason, remedy)
        return self._read(self.key if hashed else None)

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {"cron": self.expression}
        if self.dialect != "standard":
            said["dialect"] = self.dialect
        if self.seconds:
            said["seconds"] = True
        if self.key is not None and needs_key(self.expression):
            said["key"] = self.key
        return said | self._common_json()

    def _check(self) -> None:
        read_word(self.dialect, DIALECTS, "dialect")
        for name, kind, wanted in (("seconds", bool, "true or false"), ("key", str, "text")):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InvalidRecurrence.because(name, value, f"is not {wanted}", f"give {wanted}")
        self._set(expression=" ".join(read_text(self.expression, "cron").split()))
        self._read(key=None)

    def _read(self, key: str | None) -> Fields:
        return read_cron(self.expression, dialect=self.dialect, seconds=bool(self.seconds), key=key)

    def _subject(self) -> str:
        return f"cron {shown(self.expression)}"
