"""Execution mode: what happens to a run when its worker is lost.

`at_least_once`  another attempt, which does not count as a retry. With the fifth loss the run ends
                 as lost, because work that kills its workers must not be repeated for ever.
`at_most_once`   the run ends as lost at once, because the work may have been done
"""

from __future__ import annotations

from quarterjack.rules.text_enum import TextEnum

LOSSES_MAX = 5


class Execution(TextEnum):
    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"

    def continues_after(self, losses: int) -> bool:
        """Whether another attempt follows. An attempt that a worker handed back at its shutdown is
        not a loss."""
        return self is Execution.AT_LEAST_ONCE and losses < LOSSES_MAX
