"""The table of the kinds of targets, and what a worker can run."""

from __future__ import annotations

from collections.abc import Mapping

from quarterjack.rules.definition.target import TargetKinds
from quarterjack.targets import celery, command, http, plugin, prompt, rq, task, workflow
from quarterjack.targets.call import Target
from quarterjack.targets.command import CommandTarget
from quarterjack.targets.functions import Functions, injection_of
from quarterjack.targets.processes.importing import program_of
from quarterjack.targets.processes.pool import ProcessPool
from quarterjack.targets.processes.supervised import Supervisors
from quarterjack.targets.prompt import PromptTarget
from quarterjack.targets.registrations import Registry
from quarterjack.targets.task import TaskTarget
from quarterjack.targets.workflow import WorkflowTarget

KINDS = TargetKinds(
    each.KIND for each in (task, plugin, command, http, prompt, workflow, rq, celery)
)


def make_targets(registry: Registry, concurrency: int) -> dict[str, Target]:
    """What a worker with this registry can run, by kind, and so many at once."""
    supervisors = Supervisors()
    pool = _pool(supervisors, registry, concurrency)
    functions = Functions(registry.loop, pool)
    targets: dict[str, Target] = {
        "task": TaskTarget(registry.tasks, functions),
        "command": CommandTarget(supervisors),
    }
    if registry.workflows:
        targets["workflow"] = WorkflowTarget(registry.workflows, functions)
    if registry.prompt_handler is not None:
        targets["prompt"] = PromptTarget(registry.prompt_handler, functions)
    return targets


def warm_up(targets: Mapping[str, Target]) -> None:
    """Start what the first run would have to wait for, so that its problems are logged now."""
    task = targets["task"]
    assert isinstance(task, TaskTarget)
    task.functions.warm_up()


def _pool(supervisors: Supervisors, registry: Registry, size: int) -> ProcessPool | None:
    """Only for a program that has sync functions."""
    if all(injection_of(function).is_async for _, _, function in registry.functions()):
        return None
    return ProcessPool(supervisors, program_of(registry), size)
