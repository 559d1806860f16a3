"""What workers can run: a definition that none of them could run is refused when it is made, not at
its first slot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.specification import Specification


class Capabilities(NamedTuple):
    """The kinds of targets that a worker can run; of kinds whose targets are registered by name,
    such as tasks, only these names."""

    names: Mapping[str, Sequence[str] | None]
    """By kind; None is any."""

    @classmethod
    def from_text(cls, text: str | None) -> Capabilities | None:
        """None if a worker of an older program did not store them."""
        if text is None:
            return None
        stored = json.loads(text)
        return cls({kind: stored.get("names", {}).get(kind) for kind in stored["kinds"]})

    def to_text(self) -> str:
        names = {kind: sorted(each) for kind, each in self.names.items() if each is not None}
        stored: dict[str, Any] = {"kinds": sorted(self.names)}
        return json.dumps(stored | {"names": names} if names else stored)

    def can_run(self, kind: str, name: str | None) -> bool:
        if kind not in self.names:
            return False
        names = self.names[kind]
        return names is None or name is None or name in names


def check_runnable(specification: Specification, workers: Sequence[Capabilities | None]) -> None:
    """Refuses what none of the live workers can run. Without one everything is accepted."""
    target = specification.target
    kind, name = target.kind, target.name
    known = [each for each in workers if each is not None]
    if not workers or len(known) < len(workers):
        return
    if any(each.can_run(kind, name) for each in known):
        return
    if not any(kind in each.names for each in known):
        kinds = sorted({kind for each in known for kind in each.names})
        reason = f"cannot be run by any live worker: they run {', '.join(kinds)}"
        raise invalid("target", kind, reason, "start a worker that can, or use one of these kinds")
    registered = sorted({name for each in known for name in each.names.get(kind) or ()})
    near = get_close_matches(str(name), registered, n=1)
    listed = ", ".join(registered[:20]) or "none"
    remedy = f"did you mean {near[0]}?" if near else f"registered are: {listed}"
    raise invalid(kind, name, "is not registered in any live worker", remedy)
