"""Record: what happened in a world, in the order in which it happened, and a hash of all of it.

The ledger is written by the work itself, and so is believed; all else is what was asked of the
store, by whom, and what was done to the world meanwhile.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple


class Moment(NamedTuple):
    """One verb that was carried out."""

    at: int
    """In the world's own time, as is every `at` here."""
    clock: int
    """What the database's clock showed."""
    now: int | None
    """What the verb was told."""
    place: str
    verb: str


class Line(NamedTuple):
    """Of the ledger: work has begun, or has ended in some way."""

    at: int
    clock: int
    what: str
    run_id: str
    schedule_id: int
    slot: int
    attempt: int
    place: str


class Deed(NamedTuple):
    """What a person asked for, and what came of it."""

    at: int
    verb: str
    which: int | str | None
    words: dict[str, Any]
    answer: str
    """`ok`, `refused`, or `unknown`: then nobody told whether it was done."""
    moment: int | None
    """The number of the moment at which it was carried out, if it was."""
    made: tuple[int | str, ...] = ()
    """Ids of the schedules or runs that it made."""


class Disturbance(NamedTuple):
    """What was done to the world, and for how long."""

    since: int
    until: int
    kind: str
    place: str


class Record:
    """All of it."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.ledger: list[Line] = []
        self.deeds: list[Deed] = []
        self.disturbances: list[Disturbance] = []
        self._kept: dict[type, list[Any]] = {
            Moment: self.moments,
            Line: self.ledger,
            Deed: self.deeds,
            Disturbance: self.disturbances,
        }

    def note(self, what: Moment | Line | Deed | Disturbance) -> None:
        self._kept[type(what)].append(what)

    @property
    def hash(self) -> str:
        """The same for the same seed."""
        whole = (self.moments, self.ledger, self.deeds, self.disturbances)
        return blake2b(repr(whole).encode(), digest_size=16).hexdigest()
