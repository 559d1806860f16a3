"""The call: what a target receives about the run that it acts for, and how it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from quarterjack.times.instants import to_text


class AttemptControl(Protocol):
    """What a target can ask of the executor while it works, from any thread."""

    def deadline(self) -> int | None:
        """When the attempt times out."""
        ...

    def is_cancelled(self) -> bool: ...

    def extend(self, timeout: int) -> None:
        """The attempt may run for so long from now."""
        ...

    def report(self, fraction: float, text: str) -> None:
        """How far the work is."""
        ...


class WriteOutput(Protocol):
    """Takes output, from any thread."""

    def __call__(self, data: bytes, level: int = 0, /) -> None:
        """The level is a number of `logging`, such as 30; 0 is none, as for the output of a
        command."""
        ...


class Call(NamedTuple):
    """One attempt, as its target sees it."""

    run_id: str
    schedule_id: int
    key: str
    name: str | None
    slot: int
    attempt: int
    repeat_number: int
    payload: Mapping[str, Any]
    last_success_at: int | None
    owner: str | None
    fields: Mapping[str, Any]
    """Those of the target, as the schedule defines it."""
    write: WriteOutput
    control: AttemptControl

    @property
    def idempotency_key(self) -> str:
        """The same for all attempts of a run."""
        return self.run_id

    def environment(self) -> dict[str, str]:
        """The environment variables of a program."""
        last = self.last_success_at
        return {
            "QUARTERJACK_RUN_ID": self.run_id,
            "QUARTERJACK_SCHEDULE_ID": str(self.schedule_id),
            "QUARTERJACK_SCHEDULE": self.key,
            "QUARTERJACK_SLOT": to_text(self.slot),
            "QUARTERJACK_ATTEMPT": str(self.attempt),
            "QUARTERJACK_REPEAT": str(self.repeat_number),
            "QUARTERJACK_PAYLOAD": json.dumps(self.payload),
            "QUARTERJACK_LAST_SUCCESS": "" if last is None else to_text(last),
            "QUARTERJACK_OWNER": self.owner or "",
            "QUARTERJACK_IDEMPOTENCY_KEY": self.idempotency_key,
        }


class Answer(NamedTuple):
    """How the work ended, if it was not cancelled."""

    error: str | None = None
    """Why it failed; None is success."""
    result: Any = None
    retryable: bool = True
    code: str | None = None
    """A name for the error that programs can compare."""
    retry_after: int | None = None
    """Microseconds until the next attempt, instead of the delay of the schedule."""
    skipped: str | None = None
    """Why there was nothing to do, if there was nothing."""


class Target(Protocol):
    """Executes attempts of one kind. When `act` is cancelled, it stops the work, and returns only
    after nothing of it runs any more."""

    async def act(self, call: Call) -> Answer: ...

    async def close(self) -> None:
        """Release what it holds; it is not used again."""
        ...
