"""Calls as a worker makes them."""

from __future__ import annotations

from typing import Any

from harness.rules.values import at
from quarterjack.targets.call import Call
from quarterjack.targets.context import Context


class NoControl:
    """Of an attempt without a timeout, which nobody cancels."""

    def deadline(self) -> int | None:
        return None

    def is_cancelled(self) -> bool:
        return False

    def extend(self, timeout: int) -> None:
        """There is no timeout."""

    def report(self, fraction: float, text: str) -> None:
        """Nobody reads it."""


def current_call() -> Call:
    """The call of the running task."""
    return Context.current()._call


def new_call(out: list[bytes] | None = None, payload: Any = None, **fields: Any) -> Call:
    chunks = [] if out is None else out
    return Call(
        "7-3",
        7,
        "nightly",
        None,
        at("09:00"),
        2,
        3,
        payload or {},
        None,
        "ada",
        fields,
        chunks.append,
        NoControl(),
    )
