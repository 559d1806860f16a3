"""The parts of phrases that stand in many places: numbers, times of day, months, dates."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import NoReturn, TypeVar

from quarterjack.times.words.tokens import (
    MONTH_NUMBERS,
    NUMBERS,
    ORDINALS,
    TENS,
    UNITS,
    NotUnderstood,
    Token,
    tokens_of,
)
from quarterjack.times.words.unclear import refuse_unclear, unclear_word

V = TypeVar("V")
SEPARATORS = (",", "and", "&")
RANGES = ("to", "through", "thru", "till", "until", "-")


class Reader:
    """Reads tokens from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        refuse_unclear(text, self.tokens)
        self.at = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def peek(self, ahead: int) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def next(self) -> Token:
        token = self.token
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def take(self, *words: str) -> bool:
        """Whether the next token is one of these words; then it is read."""
        found = self.token.text in words
        self.at += found
        return found

    def take_all(self, words: str) -> bool:
        """Whether these words follow, one after the other; then they are read."""
        wanted = words.split()
        found = [token.text for token in self.tokens[self.at : self.at + len(wanted)]] == wanted
        self.at += found * len(wanted)
        return found

    def expect(self, *words: str) -> None:
        if not self.take(*words):
            self.refuse_missing(" or ".join(f'"{word}"' for word in words))

    def refuse_missing(self, what: str) -> NoReturn:
        """Instead of the next token."""
        if self.token.kind == "end":
            raise NotUnderstood(f"ends without {what}", 0, len(self.text), [])
        self.refuse(f"is not {what}")

    def refuse_unknown(self) -> NoReturn:
        """The next token; with what it may mean if people use it often."""
        if self.token.kind == "end":
            self.refuse_missing("saying when")
        known = unclear_word(self.token.text)
        if known is None:
            self.refuse("is not understood")
        reason, instead = known
        self.refuse(reason, None, *instead)

    def named(self, values: Mapping[str, V]) -> V | None:
        """What the next word stands for; then it is read."""
        value = values.get(self.token.text)
        self.at += value is not None
        return value

    def more(self, starts: Callable[[], bool], between: Container[str] = ()) -> bool:
        """Whether a list goes on: a separator, then something that `starts` an item. Reads up to
        that item."""
        before = self.at
        while self.token.text in SEPARATORS:
            self.at += 1
        separated = self.at > before
        while separated and self.token.text in between:
            self.at += 1
        if separated and starts():
            return True
        self.at = before
        return False

    def refuse(self, reason: str, start: int | None = None, *readings: str) -> NoReturn:
        """At the next token, or from this token up to it. Each reading is text instead of that."""
        first = self.token if start is None else self.tokens[start]
        last = self.token if start is None else self.tokens[max(self.at - 1, start)]
        phrases = [self.text[: first.start] + each + self.text[last.end :] for each in readings]
        raise NotUnderstood(reason, first.start, last.end, phrases)

    def digits(self) -> int | None:
        """`5`, `five`, `twenty-five`."""
        if self.token.kind == "number":
            return int(self.next().text)
        tens = self.named(TENS)
        if tens is None:
            return self.named(NUMBERS)
        before = self.at
        self.take("-")
        ones = self.named(NUMBERS)
        if ones is None or not 0 < ones < 10:
            self.at = before
            return tens
        return tens + ones

    def ordinal(self) -> int | None:
        """`3rd`, `third`, `twenty-first`. Not the unit of time `second`."""
        if self.token.kind == "ordinal":
            return int(self.next().text[:-2])
        before = self.at
        tens = self.named(TENS)
        if tens is not None:
            self.take("-")
        number = self.named(ORDINALS)
        if number is None or (tens is not None and number > 9):
            self.at = before
            return None
        return number + (tens or 0)

    def number(self, low: int, high: int) -> int:
        before = self.at
        number = self.digits()
        if number is None:
            self.refuse_missing("a number")
        if not low <= number <= high:
            self.refuse(f"is outside {low} to {high}", before)
        return number

    def runs(self, low: int, high: int) -> str:
        """`5 to 8, 20 and 21` as in cron: `5-8,20,21`; `1, 3, 5 and so on to 59`: `1-59/2`."""
        start = self.at
        found = []
        while True:
            first = self.number(low, high)
            last = first
            if self.token.text in RANGES and self.peek(1).kind == "number":
                self.next()
                last = self.number(first, high)
            found.append(f"{first}-{last}" if last > first else str(first))
            if self.take_all("and so on to"):
                return self._so_on(found, self.number(last, high), start)
            if not self.more(self._starts_plain_number):
                return ",".join(found)

    def _so_on(self, found: list[str], last: int, start: int) -> str:
        """The steps that these numbers begin, up to the last one."""
        first = int(found[0].partition("-")[0])
        step = (int(found[1].partition("-")[0]) if len(found) > 1 else first) - first
        if step < 1 or found != [str(first + step * n) for n in range(len(found))]:
            self.refuse("does not show one step", start)
        if (last - first) % step:
            near = last - (last - first) % step
            self.refuse("does not come to its end", start, self._shown_steps(found, near))
        return f"{first}-{last}/{step}"

    def _shown_steps(self, found: list[str], last: int) -> str:
        return f"{', '.join(found)} and so on to {last}"

    def _starts_plain_number(self) -> bool:
        is_number = self.token.kind == "number" or self.token.text in NUMBERS | TENS
        after = self.peek(1)
        return is_number and after.kind != "meridiem" and after.text not in MONTH_NUMBERS

    def starts_amount(self) -> bool:
        """A number, then a unit of time."""
        before = self.at
        found = self.digits() is not None and self.token.text in UNITS
        self.at = before
        return found

    def amounts(self) -> list[tuple[int, str]]:
        """`1 hour and 30 minutes`, `1h30m`, `half an hour`; empty if there is none."""
        if self.take_all("half an hour") or self.take_all("half hour"):
            return [(30, "m")]
        if self.take_all("quarter of an hour") or self.take_all("quarter hour"):
            return [(15, "m")]
        if self.token.text in ("a", "an") and self.peek(1).text in UNITS:
            self.at += 1
            return [(1, UNITS[self.next().text])]
        found: list[tuple[int, str]] = []
        while self.starts_amount() or (found and self.more(self.starts_amount)):
            before = self.at
            number, unit = self.number(0, 10**9), UNITS[self.next().text]
            if not number:
                self.refuse("is no time at all", before)
            found.append((number, unit))
        return found
