"""Words and signs that people write and that have no exact meaning, with what they may mean."""

from __future__ import annotations

import re

from quarterjack.times.describe import MONTHS
from quarterjack.times.words.tokens import UNITS, NotUnderstood, Token
from quarterjack.times.zones import zone_of_city

_ZONES = {
    "est": ["America/New_York"], "edt": ["America/New_York"], "et": ["America/New_York"],
    "cst": ["America/Chicago", "Asia/Shanghai"], "cdt": ["America/Chicago"],
    "mst": ["America/Denver"], "mdt": ["America/Denver"], "pst": ["America/Los_Angeles"],
    "pdt": ["America/Los_Angeles"], "pt": ["America/Los_Angeles"], "cet": ["Europe/Berlin"],
    "cest": ["Europe/Berlin"], "bst": ["Europe/London"], "eet": ["Europe/Athens"],
    "ist": ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"], "jst": ["Asia/Tokyo"],
    "msk": ["Europe/Moscow"], "aest": ["Australia/Sydney"], "hst": ["Pacific/Honolulu"],
}  # fmt: skip
_NO_DAY = "is not a day; days and times of day are said apart"
_VAGUE = "does not say how often"
_WORDS: dict[str, tuple[str, list[str]]] = {
    "biweekly": ("could be every 2 weeks, or twice a week", [
        "every 2 weeks", "every other monday", "every monday and thursday"]),
    "bimonthly": ("could be every 2 months, or twice a month", ["on days 1 and 15 of the month"]),
    "semimonthly": ("has no days", ["on days 1 and 15 of the month"]),
    "biannually": ("could be twice a year, or every 2 years", ["every january 1 and july 1"]),
    "nightly": (_NO_DAY, ["every day"]),
    "tonight": (_NO_DAY, ["today"]),
    "morning": (_NO_DAY, ["day"]), "mornings": (_NO_DAY, ["every day"]),
    "afternoon": (_NO_DAY, ["day"]), "evening": (_NO_DAY, ["day"]), "night": (_NO_DAY, ["day"]),
    "twice": ("does not say at which times", ["every day at 09:00 and 21:00"]),
    "few": (_VAGUE, ["2"]), "couple": (_VAGUE, ["2"]), "several": (_VAGUE, ["2"]),
    "during": ("is not exact; the end of between is not included", ["between"]),
    "within": ("is not exact; the end of between is not included", ["between"]),
    "since": ("is unknown; a start begins with from", ["from"]),
    "holiday": ("belongs into not_on, as in holidays:DE-BY", []),
    "holidays": ("belongs into not_on, as in holidays:DE-BY", []),
    "end": ("is not a day", ["the last day"]), "start": ("is not a day", ["the first day"]),
    "around": ("is not exact", ["at"]), "about": ("is not exact", ["at"]),
    "this": ("could be of this week or of the next", ["next"]),
    "yesterday": ("is over", ["tomorrow"]),
    "now": ("is no later time", ["in 1 second"]),
}  # fmt: skip


def refuse_unclear(text: str, tokens: list[Token]) -> None:
    """Raises `NotUnderstood` for the first token that could be several things."""
    for index, token in enumerate(tokens):
        if token.kind == "unclear":
            _refuse_number(text, token, tokens[index + 1].text)


def unclear_word(word: str) -> tuple[str, list[str]] | None:
    """The reason, and what may be written instead."""
    if word in _ZONES:
        return "stands for more than one zone; write a place", _ZONES[word]
    if place := zone_of_city(word):
        return "is a place, which needs its region", [place]
    return _WORDS.get(word)


def _refuse_number(text: str, token: Token, following: str) -> None:
    before, after = text[: token.start], text[token.end :]
    time = re.fullmatch(r"(\d{1,2})\.([0-5]\d)", token.text)
    if time and following not in UNITS:
        reading = [f"{before}{time[1]}:{time[2]}{after}"]
        raise NotUnderstood("has a point; a time has a colon", token.start, token.end, reading)
    if re.fullmatch(r"\d+\.5", token.text) and following in UNITS:
        whole = token.text[:-2]
        smaller = {"h": "30 minutes", "m": "30 seconds", "d": "12 hours"}.get(UNITS[following], "")
        unit = following.removesuffix("s") if whole == "1" else following
        rest = after.lstrip()[len(following) :]
        reading = [f"{before}{whole} {unit} and {smaller}{rest}"]
        raise NotUnderstood("is not a whole number", token.start, token.end, reading)
    parts = [int(part) for part in re.split(r"[/.]", token.text)]
    shown = []
    for month, day in ((parts[0], parts[1]), (parts[1], parts[0])):
        if 1 <= month <= 12 and 1 <= day <= 31:
            year = f" {parts[2]}" if len(parts) == 3 else ""
            shown.append(f"{before}{MONTHS[month - 1]} {day}{year}{after}")
    if len(parts) == 3 and parts[0] > 31:
        shown = [f"{before}{parts[0]:04}-{parts[1]:02}-{parts[2]:02}{after}"]
    reason = "is not exact: which part is the month?" if shown else "is not understood"
    raise NotUnderstood(reason, token.start, token.end, list(dict.fromkeys(shown)))
