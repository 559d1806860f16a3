"""Calls as a worker makes them."""

from __future__ import annotations

from typing import Any

from harness.rules.values import at
from quarterjack.targets.call import Call


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
    )
