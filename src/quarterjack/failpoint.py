"""Failpoints: named places at which a test may kill this very process, as a power cut would.

`QUARTERJACK_CRASH_AT=plan.inserted:3` dies at the third hit of that place. Without the variable
they cost one comparison.
"""

from __future__ import annotations

import os
import signal

_PLACE, _, _HITS = os.environ.get("QUARTERJACK_CRASH_AT", "").partition(":")
_left = int(_HITS or 1)


def failpoint(place: str) -> None:
    """Die here, if that is wanted."""
    if place == _PLACE:
        _hit()


def _hit() -> None:
    global _left  # noqa: PLW0603 - how many hits are left is a fact of the process
    _left -= 1
    if _left <= 0:
        os.kill(os.getpid(), signal.SIGKILL)
