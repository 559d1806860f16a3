"""ACT. What a run calls: one file for each kind of target, with its fields, their checks and how it
acts.

Read `call` first: what every target is given, and how it answers. `task` runs Python functions;
`command` runs programs under `supervisor`, a small process that outlives a worker and kills every
descendant of a command. A failing target is an answer, not an exception. `KINDS` lists all kinds;
those that this program cannot run yet are accepted in definitions if another node can.
"""

from __future__ import annotations

from collections.abc import Mapping

from quarterjack.rules.definition.target import TargetKinds
from quarterjack.targets import celery, command, http, plugin, prompt, rq, task, workflow
from quarterjack.targets.call import Target
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.task import Function, TaskTarget

KINDS = TargetKinds(
    each.KIND for each in (task, plugin, command, http, prompt, workflow, rq, celery)
)


def make_targets(tasks: Mapping[str, Function]) -> dict[str, Target]:
    """What this process can run, by kind."""
    return {"task": TaskTarget(tasks), "command": CommandTarget()}
