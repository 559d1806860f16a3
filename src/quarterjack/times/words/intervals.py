"""The repetitions of a phrase: intervals, and the seconds, minutes and hours of a clock."""

from __future__ import annotations

from quarterjack.times.words.days import ALL_DAYS, DayReader
from quarterjack.times.words.tokens import DAY_SETS, NUMBERS, UNITS

_PLACES = {"s": 59, "m": 59, "h": 23}


class IntervalReader(DayReader):
    """Notes in `said` how often a phrase repeats."""

    def every(self) -> None:
        """`every 5 minutes`, `every other day`, `every hour`, `every monday`, `every 1st`."""
        start = self.at
        self.next()
        self.said.repeats = True
        if self.token.text == "other":
            self._every_other(start)
        elif self.nth_place():
            self.of_places()
        elif self.token.text == "second" and self._can_alternate():
            self._every_second(start)
        elif found := self.amounts():
            self.set_interval(found, start)
        elif self.token.text in UNITS:
            name = self.next().text
            if name[:-1] in UNITS and len(name) > 2:
                self.refuse("has no number before it", self.at - 1, name[:-1])
            self.set_interval([(1, UNITS[name])], start)
        elif self.starts_day():
            self.days()
        else:
            self.refuse_unknown()

    def set_interval(self, interval: list[tuple[int, str]], start: int) -> None:
        every_day = [(1, "d")]
        before = self.said.interval
        if interval == every_day and before != every_day and (before or self.said.places):
            return  # `every 5 minutes, every day in june`
        if before != every_day or interval == every_day:
            self.once_only("interval", start)
        self.said.interval = [(2 * n, "w") if u == "fortnight" else (n, u) for n, u in interval]
        self.said.interval_place = self.tokens[start].start, self.tokens[self.at - 1].end
        self.of_places()

    def _can_alternate(self) -> bool:
        """Whether what follows makes `second` a number: `every second monday`."""
        word = self.peek(1).text
        return word in UNITS or word in ALL_DAYS or word in DAY_SETS

    def _every_other(self, start: int) -> None:
        """`every other day`, `every other monday`: needs a day from which it counts."""
        self.next()
        if (weekday := self.named(ALL_DAYS)) is not None:
            self.said.weekdays.append(weekday)
            if self.more(self.starts_day, between=("every", "other")):
                self.refuse("is a second day; counting needs a schedule for each")
            self.set_interval([(2, "w")], start)
        elif self.token.text in UNITS:
            self.set_interval([(2, UNITS[self.next().text])], start)
        else:
            self.refuse("cannot be counted by twos", None, "day", "monday")
        self.said.counts_from_start = True

    def _every_second(self, start: int) -> None:
        """The second monday of each month, or every other one?"""
        if self.peek(1).text in ALL_DAYS and self.peek(2).text in ("of", "in"):
            self.days()
            return
        self.next()
        name = self.next().text
        weekday = [f"every second {name} of the month"] if name in ALL_DAYS else []
        counted = [f"every 2 {name}s"] if name in UNITS else []
        reason = "could be every other one, or the second one"
        self.refuse(reason, start, *counted, f"every other {name}", *weekday)

    def amount_first(self) -> None:
        """`2 hours from now`, `5 minutes past every hour`; as described: `2h from its start`."""
        start = self.at
        found = self.amounts()
        if self.take("after") and self.token.kind == "instant":
            self.set_after(found, start, self.next().text)
        elif self.take("past") and found[0][1] == "m" and len(found) == 1:
            self.said.places["m"] = str(found[0][0])
            self.expect("every", "each")
            self.expect("hour")
            self.said.places["h"] = "*"
        elif self.take_all("from now") or self.take_all("from its start"):
            self.set_after(found, start)
        else:
            shown = self.text[self.tokens[start].start : self.tokens[self.at - 1].end]
            self.refuse("could be once or again and again", start, f"every {shown}", f"in {shown}")

    def set_after(
        self, amounts: list[tuple[int, str]], start: int, instant: str | None = None
    ) -> None:
        self.once_only("after", start)
        if any(unit in ("month", "quarter", "year") for _, unit in amounts):
            self.refuse("has no fixed length; write the date", start)
        weeks = [(2 * n, "w") if unit == "fortnight" else (n, unit) for n, unit in amounts]
        self.said.after = "".join(f"{number}{unit}" for number, unit in weeks)
        self.said.after_instant = instant or ""

    def completion(self) -> None:
        start = self.at
        self.next()
        self.said.first_from_start = self.take_all("from its start , then")
        if not self.take_all("from the end of each run"):
            self.refuse_unknown()
        self.once_only("from_completion", start)
        self.said.from_completion = True

    def place(self) -> bool:
        """`minutes 5 and 10`, `hour 9`, as said of a clock."""
        unit = UNITS.get(self.token.text)
        if unit not in _PLACES or self.peek(1).kind not in ("number", "word"):
            return False
        before = self.at
        self.next()
        if self.token.kind != "number" and self.token.text not in NUMBERS:
            self.at = before
            return False
        self.said.places[unit] = self.runs(0, _PLACES[unit])
        return True

    def nth_place(self) -> bool:
        """`2nd hour from hour 0`, after every: in cron `*/2`. Hour 0 is where it begins unless the
        phrase says otherwise."""
        before = self.at
        number = self.ordinal()
        unit = UNITS.get(self.token.text)
        if number is None or unit not in _PLACES or number > _PLACES[unit]:
            self.at = before
            return False
        self.next()
        span = "*"
        if self.token.text == "from" and self._starts_place(unit):
            span = self._span(unit)
        self.said.places[unit] = f"{span}/{number}"
        return True

    def _starts_place(self, unit: str) -> bool:
        """`from 1`, `from minute 1`."""
        named = UNITS.get(self.peek(1).text) == unit
        return self.peek(1 + named).kind == "number"

    def _span(self, unit: str) -> str:
        """`from minute 1 to minute 59`, `from hour 0`."""
        top = _PLACES[unit]
        self.next()
        self._take_unit(unit)
        low = self.number(0, top)
        if not self.take("to"):
            return f"{low}-{top}" if low else "*"
        self._take_unit(unit)
        return f"{low}-{self.number(low, top)}"

    def _take_unit(self, unit: str) -> None:
        self.at += UNITS.get(self.token.text) == unit

    def of_places(self) -> None:
        """`of every hour`, `of hours 9 and 10`, `of minute 0 of every 2nd hour`."""
        while self.token.text == "of":
            self.next()
            if self.place():
                continue
            self.expect("every", "each", "the")
            if not self.nth_place():
                unit = UNITS.get(self.token.text)
                if unit not in _PLACES:
                    self.refuse_unknown()
                self.next()
                self.said.places[unit] = "*"
