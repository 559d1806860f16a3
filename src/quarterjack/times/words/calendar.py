"""Days and times of a phrase as instants, in its zone."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from quarterjack.times.days import date_of
from quarterjack.times.instants import (
    DAY,
    EPOCH_ORDINAL,
    HOUR,
    MINUTE,
    SECOND,
    from_datetime,
    read_datetime,
    to_datetime,
    to_text,
)
from quarterjack.times.words.clock import refuse
from quarterjack.times.words.said import Moment, Said
from quarterjack.times.zones import zone, zone_name

_EXAMPLE = date(2026, 11, 16)


class Calendar:
    """`now` is needed for days that are relative to today."""

    def __init__(self, said: Said, timezone: str, now: datetime | None) -> None:
        self._said = said
        self.zone = zone_name(timezone)
        self._zone = zone(self.zone)
        self.now = None if now is None else read_datetime(now, "now")

    def day(self, day: str | int) -> date:
        if day == "today":
            return self._today()
        if day == "tomorrow":
            return self._today() + timedelta(days=1)
        if isinstance(day, int):
            ahead = (day - self._today().isoweekday() - 1) % 7 + 1
            return self._today() + timedelta(days=ahead)
        return date.fromisoformat(day)

    def example_day(self, weekday: int | None) -> date:
        """The first day from tomorrow on, for suggestions."""
        first = _EXAMPLE if self.now is None else self._today() + timedelta(days=1)
        off = 0 if weekday is None else (weekday - first.isoweekday()) % 7
        return first + timedelta(days=off)

    def year_of(self, month: int, day: int) -> int | None:
        """The year in which this date comes next."""
        if self.now is None:
            return None
        today = self._today()
        return today.year + ((month, day) <= (today.month, today.day))

    def instant(self, day: str | int, time: tuple[int, int, int]) -> datetime:
        """Refused if the clocks change so that there is no such instant, or two."""
        shown = self.day(day)
        found = self._instants(_wall_time(shown, time))
        if not found:
            after = to_text(self._first_from(_wall_time(shown, time)))
            refuse(self._said, f"names a time that does not exist in {self.zone}: on {shown} the "
                   "clocks go forward", after)  # fmt: skip
        if len(found) > 1:
            texts = [to_text(instant) for instant in found]
            refuse(self._said, f"names a time that occurs twice in {self.zone}, on {shown}", *texts)
        return to_datetime(found[0])

    def start(self, moment: Moment | None) -> datetime | None:
        """A day begins at midnight, or when the clocks skip that, right after."""
        if moment is None:
            return None
        if moment.instant:
            return read_datetime(moment.instant.upper(), "start_at")
        if moment.time:
            return self.instant(moment.day, moment.time)
        return to_datetime(self._beginning(self.day(moment.day)))

    def end(self, said: Said, unit: int = 1) -> datetime | None:
        """The last instant, to a microsecond or to this unit of them."""
        if said.end is None:
            return None
        if said.end.instant or said.end.time:
            found = self.start(said.end)
            assert found is not None
            return found if said.end_included else to_datetime(from_datetime(found) - unit)
        following = self.day(said.end.day) + timedelta(days=said.end_included)
        return to_datetime(self._beginning(following) - unit)

    def refuse_past(self, moment: Moment, instants: list[datetime]) -> None:
        """Today at a time that is over. A date with its year may be in the past."""
        if moment.day == "today" and self.now and min(instants) <= self.now:
            now = from_datetime(self.now)
            local = to_datetime(now + self._zone.offset(now))
            reason = f"is over: it is {local:%H:%M} in {self.zone}"
            text = self._said.text
            place = text.lower().index("today")
            tomorrow, daily = (
                text[:place] + word + text[place + 5 :] for word in ("tomorrow", "every day")
            )
            refuse(self._said, reason, tomorrow, daily)

    def _today(self) -> date:
        if self.now is None:
            text = self._said.text
            refuse(self._said, "depends on today's date, which is not known here; write the date",
                   *_with_date(text, _EXAMPLE))  # fmt: skip
        now = from_datetime(self.now)
        return date_of((now + self._zone.offset(now)) // DAY)

    def _instants(self, wall_time: int) -> list[int]:
        offsets = {self._zone.offset(wall_time + days * DAY) for days in (-1, 0, 1)}
        found = {wall_time - offset for offset in offsets}
        return sorted(each for each in found if each + self._zone.offset(each) == wall_time)

    def _beginning(self, day: date) -> int:
        """The first instant of a day."""
        return self._first_from(_wall_time(day, (0, 0, 0)))

    def _first_from(self, wall_time: int) -> int:
        """The first instant that shows this wall time or, if none does, a later one."""
        later = (self._instants(wall_time + minute) for minute in range(0, 2 * DAY, MINUTE))
        return next((found[0] for found in later if found), wall_time)


def _wall_time(day: date, time: tuple[int, int, int]) -> int:
    hour, minute, second = time
    midnight = (day.toordinal() - EPOCH_ORDINAL) * DAY
    return midnight + hour * HOUR + minute * MINUTE + second * SECOND


def _with_date(text: str, day: date) -> list[str]:
    lower = text.lower()
    for word in ("today", "tomorrow"):
        place = lower.find(word)
        if place >= 0:
            return [text[:place] + day.isoformat() + text[place + len(word) :]]
    return []
