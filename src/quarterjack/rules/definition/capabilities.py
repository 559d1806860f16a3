"""What workers can run: a definition that none of them could run is refused when it is made, not at
its first slot."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.specification import Specification


def check_runnable(specification: Specification, workers: Sequence[Collection[str] | None]) -> None:
    """`workers` are the kinds of targets that each live worker can run, None where that is unknown.
    Without a live worker everything is accepted."""
    kind = specification.target.kind
    if not workers or any(kinds is None or kind in kinds for kinds in workers):
        return
    known = sorted({each for kinds in workers for each in kinds or ()})
    reason = f"cannot be run by any live worker: they run {', '.join(known)}"
    raise invalid("target", kind, reason, "start a worker that can, or use one of these kinds")
