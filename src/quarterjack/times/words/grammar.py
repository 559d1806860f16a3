"""The grammar of phrases.

    phrase = clause { [","] clause } [ "and" phrase ]
    clause = every | days | at | between | from | until | in | except | once | moment | zone

Each method of `Phrase` reads the clause of its name and notes what it says. Clauses come in any
order, each of them once. What could be read in two ways, or in none, raises `NotUnderstood` with
the readings.
"""

from __future__ import annotations

from collections.abc import Callable

from quarterjack.times.words.dates import Time
from quarterjack.times.words.intervals import IntervalReader
from quarterjack.times.words.reader import RANGES
from quarterjack.times.words.said import Said, Window
from quarterjack.times.words.tokens import DAYS, FREQUENCIES, MONTH_NUMBERS, UNITS, NotUnderstood
from quarterjack.times.zones import exact_zone, nearest_zone

_NEW_PHRASE = ("every", "each", "on", "at")


def read_phrases(text: str) -> list[Said]:
    """Several if they are joined: `every monday at 9am and every friday at 5pm`."""
    phrase = Phrase(text)
    found = [phrase.read()]
    while phrase.token.kind != "end":
        phrase.said = Said(text)
        found.append(phrase.read())
    return found


class Phrase(IntervalReader):
    """Notes in `said` what the clauses say."""

    def read(self) -> Said:
        """Up to the end, or up to the next phrase."""
        while self.token.kind != "end":
            if self._next_phrase_follows():
                break
            self.take(",")
            self._clause()
        return self.said

    def _next_phrase_follows(self) -> bool:
        """After a complete one: `and every ...`, `; every ...`."""
        said, before = self.said, self.at
        if not (said.times or said.places or (said.interval and said.interval != [(1, "d")])):
            return False
        self.take(",")
        if self.take("and", ";") and (self.token.text in _NEW_PHRASE or self.starts_day()):
            return True
        self.at = before
        return False

    def _clause(self) -> None:
        token = self.token
        clause = _CLAUSES.get(token.text)
        if clause and token.kind in ("word", "sign"):
            clause(self)
        elif token.kind == "zone" or token.text in ("utc", "gmt"):
            self._zone()
        elif token.text in FREQUENCIES:
            self.said.repeats = True
            self.set_interval([(1, FREQUENCIES[self.next().text])], self.at - 1)
        elif token.kind == "past":
            self._at()
        elif self.starts_amount():
            self.amount_first()
        elif self._starts_moment():
            self._moment()
        elif self.starts_day():
            self.days()
        elif self.starts_time():
            self._times()
        else:
            self.refuse_unknown()

    # Days and times of day.

    def _on(self) -> None:
        self.next()
        if self.take_all("the hour"):
            self.said.places["m"] = "0"
            return
        if self.take("every", "each"):
            self.said.repeats = True
        if self._starts_moment():
            self._moment()
        elif self.starts_day():
            self.days()
        else:
            self.refuse_unknown()

    def _when_that_is(self) -> None:
        start = self.at
        if not self.take_all("when that is"):
            self.refuse_unknown()
        self.said.both = True
        self.take("every", "on")
        self.once_only("weekdays", start)
        self.days()

    def _at(self) -> None:
        """`at 9am and noon`, `at minutes 5 and 10 of every hour`, `at :15`."""
        start = self.at
        self.take("at")
        if self.token.kind == "past":
            self.once_only("places", start)
            found = [self.next().text[1:]]
            while self.more(lambda: self.token.kind == "past", between=("at",)):
                found.append(self.next().text[1:])
            self.said.places["m"] = ",".join(str(int(each)) for each in found)
        elif self.place():
            self.of_places()
        elif self.token.kind == "instant":
            self._moment()
        else:
            self._times()

    def _times(self) -> None:
        start = self.at
        found = self.times()
        self.once_only("times", start)
        self.said.times = found
        if self.token.text in RANGES and self.peek(1).kind == "clock":
            self.next()
            self.time()
            shown = self.text[self.tokens[start].start : self.tokens[self.at - 1].end]
            reason = "is a span of time, which needs how often"
            self.refuse(reason, start, *(f"every {n} from {shown}" for n in ("hour", "15 minutes")))

    # Windows, bounds, exceptions.

    def _between(self) -> None:
        """The end is not included: `between 9am and 5pm`."""
        start = self.at
        self.next()
        first = self.time()
        self.expect("and", "-")
        self._set_window(first, self.time(), start, with_last=False)

    def _set_window(
        self, first: Time, last: Time, start: int, *, with_last: bool, open_end: bool = False
    ) -> None:
        self.once_only("window", start)
        if first[2] or last[2]:
            self.refuse("has seconds; use whole minutes", start)
        low, high = (each[0] * 60 + each[1] for each in (first, last))
        self.said.window = Window(low, high, with_last, open_end)

    def _from(self) -> None:
        """`from 9am to 5pm`, `from monday to friday`, `from june to august`, `from 2026-12-01`."""
        start = self.at
        word = self.next().text
        if word != "from":
            self.take("on", "from", "at")
        if found := self.moment():
            self.once_only("start", start)
            self.said.start = found
        elif word == "from" and self.token.text in DAYS:
            self.said.days_in_span = True
            self.days()
        elif word == "from" and self.token.text in MONTH_NUMBERS and self.month_and_day() is None:
            self.once_only("months", start)
            self.said.months = self.months()
        elif word == "from" and self.starts_time() and self.token.text not in MONTH_NUMBERS:
            first = self.time()
            if self.take(*RANGES):
                self._set_window(first, self.time(), start, with_last=True)
            else:
                self._set_window(first, (0, 0, 0), start, with_last=False, open_end=True)
        else:
            self.at = start + 1
            self.refuse("needs a date with its year", start)

    def _until(self) -> None:
        """`until 2026-12-31`, `before 2027-01-01`."""
        start = self.at
        word = self.next().text
        found = self.moment()
        if found is None:
            self.refuse(f"needs a date with its year after {word}", start)
        self.once_only("end", start)
        self.said.end = found
        self.said.end_included = word != "before"

    def _in(self) -> None:
        """`in 2 hours`, `in june to august`, `in Europe/Berlin`; and of intervals of a month, what
        is so anyway: `in shorter months on their last day`."""
        start = self.at
        self.next()
        if self.take_all("shorter months on their last day"):
            self.once_only("shorter_months", start)
            self.said.shorter_months = True
            return
        if self.token.text in MONTH_NUMBERS:
            self.once_only("months", start)
            self.said.months = self.months()
        elif self.token.kind == "zone":
            self._zone()
        elif found := self.amounts():
            self.set_after(found, start)
        else:
            self.refuse_unknown()

    def _except(self) -> None:
        """`except fridays`, `except on monday and friday`, `but not in august`."""
        start = self.at
        if self.next().text == "but":
            self.expect("not")
        self.once_only("no_weekdays", start)
        self.take("on", "in", "every")
        if self.token.text in MONTH_NUMBERS:
            self.said.no_months = self.months()
            if self.token.kind in ("number", "ordinal"):
                self.next()
                self.refuse("is a date, which goes into not_on", start)
            return
        kept, self.said = self.said, Said(self.text)
        if not self.starts_day():
            self.refuse_unknown()
        self.days()
        excepted, self.said = self.said, kept
        if excepted.nth or excepted.month_days or excepted.dates or not excepted.weekdays:
            self.refuse("is not a day of the week or a month; dates go into not_on", start)
        kept.no_weekdays = excepted.weekdays

    # One instant, and the zone.

    def _starts_moment(self) -> bool:
        before = self.at
        try:
            return self.moment() is not None
        except NotUnderstood:
            return True
        finally:
            self.at = before

    def _moment(self) -> None:
        start = self.at
        found = self.moment()
        self.once_only("once", start)
        self.said.once = found
        while found and found.instant and self.more(lambda: self.token.kind == "instant"):
            self.said.instants.append(self.next().text)

    def _once(self) -> None:
        """`once at 2026-11-16T09:00:00Z`, `once, 2h from its start`."""
        start = self.at
        self.next()
        self.take(",", "each")
        if self.token.text in ("a", "an", "per") and self.peek(1).text in UNITS:
            self.next()
            unit = self.next().text
            self.refuse("does not say when", start, f"every {unit}")
        self.said.only_once = True

    def _zone(self) -> None:
        start = self.at
        self.once_only("zone", start)
        name = self.next().text
        self.take("time")
        self.said.zone = exact_zone(name) or ""
        if not self.said.zone:
            near = nearest_zone(name)
            self.refuse("is not a time zone", start, *([near] if near else []))


_CLAUSES: dict[str, Callable[[Phrase], None]] = {
    "every": Phrase.every,
    "each": Phrase.every,
    "on": Phrase._on,
    "at": Phrase._at,
    "when": Phrase._when_that_is,
    "between": Phrase._between,
    "from": Phrase._from,
    "starting": Phrase._from,
    "beginning": Phrase._from,
    "until": Phrase._until,
    "till": Phrase._until,
    "through": Phrase._until,
    "to": Phrase._until,
    "before": Phrase._until,
    "in": Phrase._in,
    "except": Phrase._except,
    "excluding": Phrase._except,
    "but": Phrase._except,
    "once": Phrase._once,
    "counted": Phrase.completion,
}
