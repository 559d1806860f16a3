"""Editions: of one declaration, which texts were applied, and in which order. A node that starts
with an older one than a node that is there does not undo what that one has declared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import NamedTuple

from quarterjack.declare.declaration import Declaration

_KEPT = 50


def revision_of(declaration: Declaration) -> str:
    """What it says of schedules and of what they share; where the file lies does not matter."""
    service = declaration.service._replace(file=None).to_text()
    said = json.dumps([service, declaration.schedules], sort_keys=True, default=str)
    return blake2b(said.encode(), digest_size=16).hexdigest()


class Revisions(NamedTuple):
    """By their order: the last one that was applied has the highest number."""

    numbers: Mapping[str, int]

    @classmethod
    def from_text(cls, text: str | None) -> Revisions:
        return cls(json.loads(text) if text else {})

    def to_text(self) -> str:
        return json.dumps(self.numbers)

    def is_last(self, revision: str) -> bool:
        return bool(self.numbers) and self.numbers.get(revision) == max(self.numbers.values())

    def is_before(self, revision: str, other: str) -> bool:
        """Was the other one applied later? Of those that never were nobody can tell."""
        return revision in self.numbers and self.numbers.get(other, 0) > self.numbers[revision]

    def with_last(self, revision: str) -> Revisions:
        if self.is_last(revision):
            return self
        number = max(self.numbers.values(), default=0) + 1
        others = [(each, known) for each, known in self.numbers.items() if each != revision]
        latest = sorted(others, key=lambda pair: pair[1])[1 - _KEPT :]
        return Revisions(dict([*latest, (revision, number)]))
