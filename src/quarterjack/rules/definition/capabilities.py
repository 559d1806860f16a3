"""What workers can run: a definition that none of them could run is refused when it is made, not at
its first slot."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from quarterjack.rules.definition.input_checks import invalid
from quarterjack.rules.definition.specification import Specification
from quarterjack.rules.definition.target import Target


class Capabilities(NamedTuple):
    """The kinds of targets that a worker can run; of kinds whose targets are registered by name,
    such as tasks, only these names."""

    names: Mapping[str, Sequence[str] | None]
    """By kind; None is any."""
    nodes: Mapping[str, Sequence[str]] = {}
    """By workflow, of those that accept only some trigger nodes."""

    @classmethod
    def from_text(cls, text: str | None) -> Capabilities | None:
        """None if a worker of an older program did not store them."""
        if text is None:
            return None
        stored = json.loads(text)
        names = {kind: stored.get("names", {}).get(kind) for kind in stored["kinds"]}
        return cls(names, stored.get("nodes", {}))

    def to_text(self) -> str:
        names = {kind: sorted(each) for kind, each in self.names.items() if each is not None}
        stored: dict[str, Any] = {"kinds": sorted(self.names)}
        parts = {"names": names, "nodes": self.nodes}
        return json.dumps(stored | {part: value for part, value in parts.items() if value})

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
    if able := [each for each in known if each.can_run(kind, name)]:
        _check_node(target, able)
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


def _check_node(target: Target, able: Sequence[Capabilities]) -> None:
    """The trigger node of a workflow is known to one of the workers that have the workflow."""
    node = target.fields.get("trigger_node_id")
    known = [each.nodes.get(str(target.name), ()) for each in able]
    if node is None or any(not nodes or node in nodes for nodes in known):
        return
    remedy = f"use one of {', '.join(sorted({each for nodes in known for each in nodes}))}"
    reason = f"is not a node of {target.kind} {target.name} in any live worker"
    raise invalid("trigger_node_id", node, reason, remedy)
