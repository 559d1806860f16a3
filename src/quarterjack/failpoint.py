"""Failpoints: named places in the code where a test can kill this process, as a power cut would.

`QUARTERJACK_CRASH_AT=plan.inserted:3` kills it at the third hit of that place. Without the variable
a failpoint costs one comparison.
"""

from __future__ import annotations

import os
import signal

_PLACE, _, _HITS = os.environ.get("QUARTERJACK_CRASH_AT", "").partition(":")
_hits_left = int(_HITS or 1)


def failpoint(place: str) -> None:
    global _hits_left  # noqa: PLW0603 - the count belongs to the process
    if place == _PLACE:
        _hits_left -= 1
        if _hits_left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
