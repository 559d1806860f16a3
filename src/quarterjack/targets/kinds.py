"""The table of the kinds of targets, and what a worker can run."""

from __future__ import annotations

from quarterjack.rules.definition.target import TargetKinds
from quarterjack.targets import celery, command, http, plugin, prompt, rq, task, workflow
from quarterjack.targets.call import Target
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.prompt import PromptTarget
from quarterjack.targets.registrations import Registry
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
