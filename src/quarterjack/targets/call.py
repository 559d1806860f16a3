"""The call: what every target is told of the run it acts for, and how it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from quarterjack.times.instants import to_text


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
    """What the schedule says of its target."""
    write: Callable[[bytes], None]
    """Takes what the work puts out."""

    @property
    def idempotency_key(self) -> str:
        """The same for all attempts of a run."""
        return self.run_id

    def environment(self) -> dict[str, str]:
        """The same for a program."""
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
    """What the work said when it ended by itself."""

    error: str | None = None
    """Why it failed; None is success."""
    result: Any = None
    retryable: bool = True


class Target(Protocol):
    """One kind of target. If it is cancelled, it stops the work, and returns only when nothing of
    it is left."""

    async def act(self, call: Call) -> Answer: ...

    async def close(self) -> None:
        """Nothing will be asked of it any more."""
        ...
