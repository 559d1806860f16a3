"""Which revisions of a declaration were applied, and in which order, so that a node with an older
one does not undo what a node that is alive has declared later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

_KEPT = 50


class Revisions(NamedTuple):
    """Revisions by their order: the one that was applied last has the highest number."""

    numbers: Mapping[str, int]

    @classmethod
    def from_text(cls, text: str | None) -> Revisions:
        return cls(json.loads(text) if text else {})

    def to_text(self) -> str:
        return json.dumps(self.numbers)

    def is_last(self, revision: str) -> bool:
        return bool(self.numbers) and self.numbers.get(revision) == max(self.numbers.values())

    def is_before(self, revision: str, other: str) -> bool:
        """Was the other one applied later? The order of revisions never applied is unknown."""
        return revision in self.numbers and self.numbers.get(other, 0) > self.numbers[revision]

    def with_last(self, revision: str) -> Revisions:
        if self.is_last(revision):
            return self
        number = max(self.numbers.values(), default=0) + 1
        others = [(each, known) for each, known in self.numbers.items() if each != revision]
        latest = sorted(others, key=lambda pair: pair[1])[1 - _KEPT :]
        return Revisions(dict([*latest, (revision, number)]))
