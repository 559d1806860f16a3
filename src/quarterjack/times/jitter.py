"""Jitter: a delay that looks random and is always the same for one schedule and slot.

It moves the moment at which a run becomes ready, never the slot, so nothing drifts.
"""

from __future__ import annotations

from hashlib import blake2b


def jitter_of(schedule: str | int, slot: int, jitter: int) -> int:
    """Microseconds in [0, jitter), evenly spread over schedules and slots."""
    if jitter <= 0:
        return 0
    digest = blake2b(f"{schedule}@{slot}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % jitter
