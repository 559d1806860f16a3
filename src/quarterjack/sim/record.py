"""The log of a simulation in the order of events, and a hash of all of it."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple


class StoreCall(NamedTuple):
    """A transaction that the store has carried out."""

    at: int
    """Simulated time, as is every `at` here."""
    clock: int
    """What the database's clock showed."""
    now: int | None
    """The `now` that the transaction was given."""
    actor: str
    transaction: str


class WorkEvent(NamedTuple):
    """Noted by the work of a run itself: it has started, or ended in some way."""

    at: int
    clock: int
    event: str
    run_id: str
    schedule_id: int
    slot: int
    attempt: int
    actor: str


class UserRequest(NamedTuple):
    at: int
    action: str
    subject: int | str | None
    """The id of a schedule or run."""
    arguments: dict[str, Any]
    answer: str
    """`ok`, `refused: ...`, or `unknown` if the store failed, before or after the commit."""
    call: int | None
    """The index of the store call that carried it out."""
    created: tuple[int | str, ...] = ()
    """Ids of the schedules or runs that it created."""


class Disturbance(NamedTuple):
    """A fault and the time it lasted."""

    since: int
    until: int
    kind: str
    actor: str


class Record:
    def __init__(self) -> None:
        self.calls: list[StoreCall] = []
        self.work: list[WorkEvent] = []
        self.requests: list[UserRequest] = []
        self.disturbances: list[Disturbance] = []

    @property
    def hash(self) -> str:
        """The same for the same seed."""
        whole = (self.calls, self.work, self.requests, self.disturbances)
        return blake2b(repr(whole).encode(), digest_size=16).hexdigest()
