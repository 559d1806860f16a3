"""ACT. What a run calls: one file for each kind of target, with its fields, their checks and how it
acts.

Read `call` first: what every target is given, and how it answers. `task` runs Python functions,
with their `context` and `results`; a program enters them in its `registry`, with workflows and a
prompt handler.
`command` runs programs under `supervisor`, a small process that outlives a worker and kills every
descendant of a command. A failing target is an answer, not an exception. `KINDS` lists all kinds;
those that this program cannot run yet are accepted in definitions if another node can.
"""

from __future__ import annotations

from quarterjack.rules.definition.target import TargetKinds
from quarterjack.targets import celery, command, http, plugin, prompt, rq, task, workflow
from quarterjack.targets.call import Target
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.prompt import PromptTarget
from quarterjack.targets.registry import Registry
from quarterjack.targets.task import TaskTarget
from quarterjack.targets.workflow import WorkflowTarget

KINDS = TargetKinds(
    each.KIND for each in (task, plugin, command, http, prompt, workflow, rq, celery)
)


def make_targets(registry: Registry) -> dict[str, Target]:
    """What a worker with this registry can run, by kind."""
    tasks, loop = registry.tasks, registry.loop
    targets: dict[str, Target] = {"task": TaskTarget(tasks, loop), "command": CommandTarget()}
    if registry.workflows:
        targets["workflow"] = WorkflowTarget(registry.workflows, loop)
    if registry.prompt_handler is not None:
        targets["prompt"] = PromptTarget(registry.prompt_handler, loop)
    return targets
