"""The days of a phrase: names, numbers and dates, in lists."""

from __future__ import annotations

from quarterjack.times.words.dates import DateReader
from quarterjack.times.words.reader import RANGES
from quarterjack.times.words.said import Said
from quarterjack.times.words.tokens import (
    DAY_SETS,
    DAYS,
    MONTH_NUMBERS,
    ORDINALS,
    PLURAL_DAYS,
    TENS,
)

ALL_DAYS = DAYS | PLURAL_DAYS
_BEFORE_DAYS = ("on", "the", "every", "each")


class DayReader(DateReader):
    """Notes in `said` which days a phrase names."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.said = Said(text)

    def once_only(self, name: str, start: int) -> None:
        if getattr(self.said, name):
            self.refuse(f"says its {name.replace('_', ' ')} a second time", start)

    def starts_day(self) -> bool:
        token = self.token
        if token.text in ALL_DAYS or token.text in DAY_SETS or token.text in MONTH_NUMBERS:
            return True
        if token.text in ("day", "days", "last", "business", "working", "the"):
            return True
        if token.kind == "ordinal" or token.text in ORDINALS:
            return True
        after = self.peek(1)
        if token.text in TENS:
            return after.text in ORDINALS or self.peek(2).text in ORDINALS
        is_number = token.kind == "number" and len(token.text) < 3
        return is_number and after.text in MONTH_NUMBERS

    def days(self) -> None:
        """A list of days: `monday to friday and sunday`, `the first and the last day of june`."""
        if self.said.days_place is not None and not self.said.both:
            before = self.token
            self.refuse("names its days a second time", None, f"and {before.text}")
        self.said.days_place = self.token.start
        while True:
            self._day()
            if self.take("of"):
                self._of()
            elif self.said.dates and self.take_all("every year"):
                self.said.repeats = True
            if self.take("or"):
                self.said.either = True
                while self.token.text in _BEFORE_DAYS:
                    self.said.repeats |= self.next().text in ("every", "each")
            else:
                self.said.days_end = self.tokens[self.at - 1].end
                if not self._more_days():
                    return

    def _more_days(self) -> bool:
        before = self.at
        found = self.more(self.starts_day, between=_BEFORE_DAYS)
        read = {token.text for token in self.tokens[before : self.at]}
        if found and self.said.nth and self.token.text in ALL_DAYS and not read & {"every", "on"}:
            name = self.token.text
            self.refuse("could be every one, or only the one of that number", None, f"every {name}")
        self.said.repeats |= found and bool(read & {"every", "each"})
        return found

    def _day(self) -> None:
        said = self.said
        self.take("the")
        if self.token.text in ALL_DAYS:
            self._weekdays()
        elif self.token.text in DAY_SETS:
            said.repeats |= self.token.text.endswith("s")
            said.weekdays += DAY_SETS[self.next().text]
        elif self.take("business", "working"):
            said.repeats |= self.token.text == "days"
            self.expect("day", "days")
            if self.take_all("within the month nearest to day") or self.take_all("nearest to day"):
                said.month_days.append(f"{self.number(1, 31)}W")
            else:
                said.weekdays += DAY_SETS["weekday"]
        elif self.take_all("day before the last day"):
            said.month_days.append("L-1")
        elif self.take("day", "days"):
            said.month_days += self.runs(1, 31).split(",")
        elif found := self._date():
            said.dates.append(found)
        else:
            self._nth()

    def _date(self) -> tuple[int, int] | None:
        """`december 24`, or `24 december`; `24th of december` too, but not in a longer list."""
        start = self.at
        found = self.month_and_day()
        if found is None and self.token.text in MONTH_NUMBERS:
            self.said.months += self.months()
            shown = self.tokens[start].text
            self.refuse("has no day", start, f"{shown} 1", f"day in {shown}")
        if found and self.token.kind == "number" and len(self.token.text) == 4:
            self.refuse("does not repeat: it has a year", start)
        return found

    def _weekdays(self) -> None:
        said = self.said
        said.repeats |= self.token.text in PLURAL_DAYS
        first = ALL_DAYS[self.next().text]
        last = first
        if self.token.text in RANGES and self.peek(1).text in ALL_DAYS:
            self.next()
            last = ALL_DAYS[self.next().text]
            said.repeats = True
        said.weekdays += [(first + n) % 7 for n in range((last - first) % 7 + 1)]

    def _nth(self) -> None:
        """`first and third friday`, `1st`, `last day but 3`, `first business day`."""
        start = self.at
        found = [self._one_nth()]
        while self.more(self._starts_nth, between=("the",)):
            found.append(self._one_nth())
        if (weekday := self.named(DAYS)) is not None:
            if max(found) > 5:
                self.refuse("is outside first to fifth", start)
            self.said.nth += [f"{weekday}#{n}" if n else f"{weekday}L" for n in found]
        elif self.take("business", "working", "weekday", "workday"):
            if self.tokens[self.at - 1].text in ("business", "working"):
                self.expect("day")
            if set(found) - {0, 1}:
                self.refuse("is not available: only the first and the last business day are", start)
            self.said.month_days += ["1W" if n else "LW" for n in found]
        elif self.take_all("day before the last day"):
            self.said.month_days += [f"L-{n}" for n in found]
        elif len(found) == 1 and self.take_all("day from"):
            low = self._one_nth()
            self.expect("to")
            high = self._one_nth()
            self.said.month_days.append(f"{low}-{high}/{found[0]}")
        else:
            self.take("day", "days")
            self.said.month_days += [self._month_day(n, start) for n in found]

    def _starts_nth(self) -> bool:
        token = self.token
        return token.kind == "ordinal" or token.text == "last" or token.text in ORDINALS

    def _one_nth(self) -> int:
        """0 is the last."""
        if self.take("last"):
            return 0
        number = self.ordinal()
        if number is None:
            self.refuse_unknown()
        return number

    def _month_day(self, number: int, start: int) -> str:
        if number > 31:
            self.refuse("is outside 1 to 31", start)
        if number:
            return str(number)
        return f"L-{self.number(1, 30)}" if self.take("but") else "L"

    def _of(self) -> None:
        """`of the month`, `of every month`, `of june to august`."""
        if self.take("the", "every", "each", "a"):
            repeats = self.tokens[self.at - 1].text in ("every", "each")
            self.said.repeats |= repeats
            if self.token.text in MONTH_NUMBERS:
                self.said.months = self.months()
                return
            self.expect("month")
            self.said.of_month = True
        else:
            self.said.months = [*dict.fromkeys(self.said.months + self.months())]
