"""Jitter: a pseudo-random delay that is always the same for one schedule and slot. It delays the
run, never the slot, so slots do not drift."""

from __future__ import annotations

from hashlib import blake2b


def jitter_of(schedule: str | int, slot: int, jitter: int) -> int:
    """Microseconds in [0, jitter), uniform over schedules and slots."""
    if jitter <= 0:
        return 0
    digest = blake2b(f"{schedule}@{slot}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % jitter
