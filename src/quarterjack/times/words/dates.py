"""Times of day, months and dates of a phrase."""

from __future__ import annotations

from datetime import date
from typing import NoReturn

from quarterjack.times.words.reader import RANGES, Reader
from quarterjack.times.words.said import Moment
from quarterjack.times.words.tokens import CLOCK_NAMES, DAYS, MONTH_NUMBERS, NUMBERS, TENS

Time = tuple[int, int, int]
_MOMENT_WORDS = ("today", "tomorrow", "next")


class DateReader(Reader):
    """Reads each of them from left to right."""

    def starts_time(self) -> bool:
        token = self.token
        if token.kind in ("clock", "meridiem") or token.text in CLOCK_NAMES:
            return True
        return token.kind == "number" or token.text in NUMBERS or token.text in TENS

    def times(self) -> list[Time]:
        """`9am, noon and 17:30`."""
        found = [self.time()]
        while self.more(self.starts_time, between=("at",)):
            found.append(self.time())
        return found

    def time(self) -> Time:
        """A time of day that can be read in one way only."""
        start = self.at
        if named := self.named(CLOCK_NAMES):
            return named
        if self.token.kind == "clock":
            hour, minute, second = ([int(part) for part in self.next().text.split(":")] + [0])[:3]
            plain = False
        else:
            plain, minute, second = True, 0, 0
            found = self.digits()
            if found is None:
                self.refuse_missing("a time of day, such as 09:00, 9am or noon")
            hour = found
        half = self.next().text[0] if self.token.kind == "meridiem" else ""
        if minute > 59 or second > 59:
            self.refuse("is not a time of day", start)
        if half:
            if not 1 <= hour <= 12:
                readings = [f"{hour:02}:{minute:02}"] if hour < 24 else []
                self.refuse("is not a time of day: am and pm go from 1 to 12", start, *readings)
            return hour % 12 + 12 * (half == "p"), minute, second
        if plain:
            self._refuse_bare_hour(start, hour)
        if hour == 24 and not minute:
            reason = "is not a time of day: midnight is 00:00, at the beginning of the day"
            self.refuse(reason, start, "00:00")
        if hour > 23:
            self.refuse("is not a time of day", start)
        return hour, minute, second

    def _refuse_bare_hour(self, start: int, hour: int) -> NoReturn:
        digits = self.tokens[start].text if self.tokens[start].kind == "number" else ""
        self.take("o'clock")
        if 1 <= hour <= 12 and len(digits) < 3:
            both = (f"{hour:02}:00", f"{(hour + 12) % 24:02}:00")
            if hour == 12:
                both = ("noon", "midnight")
            self.refuse(f"could be {both[0]} or {both[1]}", start, *both)
        if len(digits) == 4 and hour < 2400 and hour % 100 < 60:
            self.refuse("needs a colon", start, f"{hour // 100:02}:{hour % 100:02}")
        readings = [f"{hour:02}:00"] if hour < 24 else []
        self.refuse("needs minutes, or am or pm, to be a time of day", start, *readings)

    def starts_month(self) -> bool:
        return self.token.text in MONTH_NUMBERS

    def months(self) -> list[int]:
        """`january`, `june to august and december`."""
        found: list[int] = []
        while True:
            first = self.named(MONTH_NUMBERS)
            if first is None:
                self.refuse_missing("the name of a month")
            last = first
            if self.token.text in RANGES and self.peek(1).text in MONTH_NUMBERS:
                self.at += 1
                last = MONTH_NUMBERS[self.next().text]
            found += [(first - 1 + n) % 12 + 1 for n in range((last - first) % 12 + 1)]
            if not self.more(self.starts_month):
                return found

    def month_and_day(self) -> tuple[int, int] | None:
        """`december 24`, `24th of december`; None if neither follows, and nothing is read."""
        before = self.at
        self.take("the")
        month = self.named(MONTH_NUMBERS)
        if month is not None:
            self.take("the")
            day = self.ordinal() or self._day_number()
        else:
            day = self.ordinal() or self.digits()
            self.take("of")
            month = self.named(MONTH_NUMBERS) if day else None
        if not month or not day:
            self.at = before
            return None
        return month, day

    def _day_number(self) -> int | None:
        """A number that is neither a year nor a time of day."""
        is_day = self.token.kind != "number" or len(self.token.text) <= 2
        return self.digits() if is_day and self.peek(1).kind != "meridiem" else None

    def year(self) -> int | None:
        before = self.at
        self.take(",")
        if self.token.kind == "number" and len(self.token.text) == 4:
            return int(self.next().text)
        self.at = before
        return None

    def moment(self) -> Moment | None:
        """A day with its year, or relative to today, with the time that follows it. None if none
        follows, and nothing is read."""
        if self.token.kind == "instant":
            return Moment("", instant=self.next().text)
        day = self._day_of_calendar()
        if day is None:
            return None
        before = self.at
        if (self.take("at") or self.token.kind == "clock") and self.starts_time():
            time = self.time()
            if not self.more(self.starts_time, between=("at",)):
                return Moment(day, time)
        self.at = before
        return Moment(day)

    def _day_of_calendar(self) -> str | int | None:
        before = self.at
        self.take("on")
        if self.token.kind == "date":
            return self._checked_day(before, *map(int, self.next().text.split("-")))
        if self.token.text in _MOMENT_WORDS:
            return self._relative_day()
        found = self.month_and_day()
        year = self.year() if found else None
        if found and year:
            return self._checked_day(before, year, *found)
        self.at = before
        return None

    def _relative_day(self) -> str | int:
        word = self.next().text
        if word != "next":
            return word
        weekday = self.named(DAYS)
        if weekday is None:
            self.refuse_missing("the name of a day")
        return weekday

    def _checked_day(self, start: int, year: int, month: int, day: int) -> str:
        try:
            return date(year, month, day).isoformat()
        except (ValueError, OverflowError):
            self.refuse("is a day that does not exist", start)
