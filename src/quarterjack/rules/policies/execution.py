"""Execution mode: what a lost worker means.

`at_least_once`  another attempt, which counts as no retry; with the fifth loss the run is lost,
                 for work that kills its workers must not go on for ever
`at_most_once`   the run is lost at once: the work may have been done
"""

from __future__ import annotations

from quarterjack.rules.text_enum import TextEnum

LOSSES_MAX = 5


class Execution(TextEnum):
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"

    def goes_on_after(self, losses: int) -> bool:
        """Is there another attempt after so many losses? Work that was handed back by a worker
        that stops is none of them."""
        return self is Execution.AT_LEAST_ONCE and losses < LOSSES_MAX
