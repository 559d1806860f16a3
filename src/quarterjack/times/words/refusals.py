"""Errors for phrases: the place, the readings, or the nearest phrase that works."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches

from quarterjack.errors import InvalidRecurrence, quote
from quarterjack.times.checks import invalid
from quarterjack.times.words.tokens import VOCABULARY, NotUnderstood

_READINGS_MAX = 3
_DEPTH_MAX = 3
_TRIES_MAX = 60
_EXAMPLES = (
    "every monday at 9am", "every day at 09:00", "every weekday at 17:30", "every 15 minutes",
    "every hour", "every 15 minutes between 9am and 5pm on weekdays", "every hour at :30",
    "on the first of the month at 09:00", "on the last day of the month at 18:00",
    "on the first monday of the month at 09:00", "every year on december 24 at 18:00",
    "every other monday at 09:00 from 2026-11-16", "in 2 hours", "tomorrow at 09:00",
    "2026-12-24 at 18:00", "every weekend at 10:00", "every weekday except friday at 09:00",
)  # fmt: skip

Read = Callable[[str], object]


def refusal(text: str, problem: NotUnderstood, read: Read) -> InvalidRecurrence:
    """The error that the caller raises."""
    part = text[problem.start : problem.end]
    if problem.start >= len(text.rstrip()):
        reason = f"ends where it {problem.reason}"
    elif part.strip() == text.strip():
        reason = problem.reason
    else:
        reason = f"has {quote(part)} at character {problem.start + 1}, which {problem.reason}"
    return invalid("schedule", text, reason, _remedy(text, problem, read))


def _remedy(text: str, problem: NotUnderstood, read: Read) -> str:
    search = _Search(read)
    if found := search.working(problem.readings or _corrected(text, problem)):
        return f"did you mean {_or(found)}?"
    if found := search.working(_shortened(text, problem), _DEPTH_MAX)[:1]:
        return f"the nearest phrase that works is {_or(found)}"
    near = get_close_matches(text.lower(), _EXAMPLES, n=3, cutoff=0)
    return f"write a phrase such as {_or(search.working(near, _DEPTH_MAX)[:1])}"


def _or(phrases: list[str]) -> str:
    return " or ".join(f'"{each}"' for each in phrases)


class _Search:
    """Tries phrases; of one that does not work, its own readings."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._tries = 0

    def working(self, phrases: list[str], depth: int = 0) -> list[str]:
        found: list[str] = []
        for phrase in phrases:
            self._tries += 1
            if self._tries > _TRIES_MAX or len(found) == _READINGS_MAX:
                break
            try:
                self._read(phrase)
            except NotUnderstood as problem:
                if depth < _DEPTH_MAX:
                    found += self.working(problem.readings[:2], depth + 1)[:2]
            else:
                found.append(" ".join(phrase.split()))
        return list(dict.fromkeys(found))[:_READINGS_MAX]


def _corrected(text: str, problem: NotUnderstood) -> list[str]:
    """With a known word instead of one that is similar."""
    start, end = problem.start, problem.end
    word = text[start:end].lower()
    near = get_close_matches(word, VOCABULARY, n=2, cutoff=0.7) if len(word) > 3 else []
    near = [each for each in near if each.removesuffix("s") not in near or each[-1] != "s"]
    return [text[:start] + each + text[end:] for each in near]


def _shortened(text: str, problem: NotUnderstood) -> list[str]:
    """Without what was refused, or only up to it."""
    before = text[: problem.start].rstrip(" ,")
    return [each for each in (before + text[problem.end :], before) if each.strip()]
