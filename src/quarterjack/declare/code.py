"""A declaration from code: the schedules that a program has registered, with the place of each.

What is wrong with a registration is noted, not raised, so that a start reports every problem of the
program at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from quarterjack.declare.code_fields import recurrence_fields, with_texts
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.functions import (
    Function,
    check_arguments,
    check_call,
    check_function,
    check_hook,
    name_of,
    place_of,
    short,
)
from quarterjack.errors import Conflict, Invalid, InvalidSpecification, Problem, Problems
from quarterjack.rules.definition.input_checks import check_key, check_label, invalid
from quarterjack.rules.definition.target import Target
from quarterjack.targets.kinds import KINDS
from quarterjack.targets.registrations import Registry, Workflow
from quarterjack.times.checks import check_integer

F = TypeVar("F", bound=Function)
is_import_only: ContextVar[bool] = ContextVar("is_import_only", default=False)
"""While a command imports a program: `run()` and `start()` in it do nothing."""
TARGET_FIELDS = frozenset({"target", *KINDS.naming_fields})
_NO_TASK = 'write it as @app.every("5m") above a function, or as app.schedule(key, task, when)'


class Scheduled(NamedTuple):
    """A schedule as it was registered; its task may be registered later."""

    place: str
    task: Function | str | None
    """None if its fields name another kind of target."""
    when: Any
    fields: Mapping[str, Any]


class CodeSource:
    """What a program registers (`source.Source`)."""

    def __init__(
        self, settings: Mapping[str, Any], module: str, file: str, place: str, *, enabled: bool
    ) -> None:
        """`module` and `file` are those that create the app, `place` is where."""
        self.settings = settings
        self.registry = Registry(module)
        self.location = str(Path(file).absolute())
        self.name = short(self.location)
        self._module = module
        self._place = place
        self._enabled = enabled
        self._scheduled: dict[str, Scheduled] = {}
        self._schedules: dict[str, dict[str, Any]] = {}
        self._queues: dict[str, str] = {}
        """Of the tasks that name one."""
        self._problems: list[tuple[str, Invalid]] = []
        self._unused: dict[str, Invalid] = {}
        """Decorators without a function yet, by their places."""
        self._refused: list[object] = []
        """Functions and names of tasks that are no tasks because of a problem."""

    @property
    def default_name(self) -> str:
        """The import path, such as `shop.jobs:app`, also of a program that is run as a script."""
        module = sys.modules.get(self._module)
        attributes = vars(module).items() if module is not None else ()
        name = next((n for n, each in attributes if getattr(each, "source", None) is self), "app")
        path = Path(self.location).stem if self._module == "__main__" else self._module
        return f"{path}:{name}"

    @property
    def values(self) -> Mapping[str, Any]:
        return {**self.settings, "schedules": self._schedules}

    def place(self, *path: str) -> str:
        scheduled = self._scheduled.get(path[1]) if len(path) > 1 else None
        return self._place if scheduled is None else scheduled.place

    @contextmanager
    def noting(self, place: str) -> Iterator[None]:
        """A problem here is reported when the program starts."""
        try:
            yield
        except Invalid as error:
            self._problems.append((place, error))

    def add_task(
        self, function: Any, place: str, name: object = None, queue: str | None = None
    ) -> None:
        self._refuse_when_running("task")
        place = place_of(function) or place
        name = name_of(function) if name is None else name
        with self.noting(place):
            self._refused += [function, name]
            check_label(name, "task")
            assert isinstance(name, str)
            if (other := self.registry.tasks.get(name)) is not None:
                remedy = f"give one of them another name; the first is at {place_of(other)}"
                raise invalid("task", name, "is registered twice", remedy)
            check_function("task", name, function)
            del self._refused[-2:]
            self.registry.tasks[name] = function
            if queue is not None:
                self._queues[name] = queue

    def add_schedule(
        self, key: str, task: Any, when: Any, fields: Mapping[str, Any], place: str
    ) -> None:
        self._refuse_when_running("schedule")
        with self.noting(place):
            check_key(key, "schedule")
            if key in self._scheduled:
                remedy = f"use another key; the first is at {self._scheduled[key].place}"
                raise invalid("schedule", key, "is declared twice", remedy)
            if task is None and not TARGET_FIELDS & fields.keys():
                raise invalid("task", task, "is not a task", "give a function, or its name")
            self._scheduled[key] = Scheduled(place, task, when, fields)

    def decorator(
        self, key: str | None, when: Any, fields: Mapping[str, Any], place: str
    ) -> Callable[[F], F]:
        """Declares a function as a task, and its schedule. Without a key it is that of the task."""
        self._refuse_when_running("schedule")
        name = "?" if key is None else key
        self._unused[place] = invalid("schedule", name, "has no task", _NO_TASK)

        def decorate(function: F) -> F:
            self._unused.pop(place, None)
            if not any(each is function for each in self.registry.tasks.values()):
                self.add_task(function, place)
            self.add_schedule(
                name_of(function) if key is None else key, function, when, fields, place
            )
            return function

        return decorate

    def add_workflow(self, number: Any, workflow: Workflow, place: str) -> None:
        self._refuse_when_running("workflow")
        function = workflow.function
        with self.noting(place_of(function) or place):
            check_integer(number, 1, 2**63 - 1, "workflow")
            if (other := self.registry.workflows.get(number)) is not None:
                remedy = f"use another number; the first is at {place_of(other.function)}"
                raise invalid("workflow", number, "is registered twice", remedy)
            check_function("workflow", name_of(function), function)
            check_call("workflow", function, ("event",), ())
            self.registry.workflows[number] = workflow

    def set_prompt_handler(self, function: Any, place: str) -> None:
        self._refuse_when_running("prompt handler")
        with self.noting(place_of(function) or place):
            if (other := self.registry.prompt_handler) is not None:
                remedy = f"keep one of them; the first is at {place_of(other)}"
                raise invalid("prompt_handler", name_of(function), "is registered twice", remedy)
            check_function("prompt_handler", name_of(function), function)
            check_call("prompt_handler", function, ("prompt",), ("model", "opts", "user"))
            self.registry.prompt_handler = function

    def add_hook(self, what: str, hooks: list[Function], function: Any, place: str) -> None:
        self._refuse_when_running(what)
        with self.noting(place):
            check_hook(what, function)
            hooks.append(function)

    def _refuse_when_running(self, what: str) -> None:
        """Services have read the registrations, and stored the schedules."""
        if self.registry.is_in_use:
            remedy = "declare tasks, schedules, handlers and hooks before start()"
            raise Conflict(f"{what}: it has started, so this one would be ignored; {remedy}")

    def read(self) -> Declaration:
        """The declaration, or every problem of the program at once."""
        problems = Problems(InvalidSpecification)
        for place, error in [*self._problems, *self._unused.items()]:
            problems.note(error.within(place))
        self._check_queues(problems)
        self._schedules = {}
        for key, scheduled in self._scheduled.items():
            where = f'{scheduled.place}: schedule "{key}"'
            for resolve in (self._resolve, self._check_target):
                try:
                    resolve(key, scheduled)
                except Invalid as error:
                    problems.note(error.within(where))
        declaration: Declaration | None = None
        with problems:
            declaration = read_declaration(self)
        problems.found = sorted(map(self._with_place, problems.found), key=_line_of)
        problems.raise_if_any(self.name)
        assert declaration is not None, "without problems it was read"
        return declaration

    def _with_place(self, problem: Problem) -> Problem:
        """Problems of settings are where the app is created."""
        return problem if problem.place else replace(problem, place=self._place)

    def _check_queues(self, problems: Problems) -> None:
        declared = self.settings.get("queues") or ["default"]
        if not isinstance(declared, list | tuple):
            return  # reading the declaration reports it
        for task, queue in self._queues.items():
            if queue not in declared:
                remedy = f"use one of {', '.join(map(str, declared))}, or add it to queues"
                error = invalid(f"task {task}: queue", queue, "is not declared", remedy)
                problems.note(error.within(str(place_of(self.registry.tasks[task]))))

    def _resolve(self, key: str, scheduled: Scheduled) -> None:
        """The fields of a schedule, as a configuration file has them."""
        when, fields = scheduled.when, with_texts(scheduled.fields)
        queue = self._queues.get(str(self._task_of(scheduled)))
        own = recurrence_fields(when, fields) | self._target_fields(scheduled)
        shared = {} if queue is None else {"queue": queue}
        self._schedules[key] = {**shared, **fields, **own}
        if not self._enabled:
            self._schedules[key]["enabled"] = False

    def _target_fields(self, scheduled: Scheduled) -> dict[str, Any]:
        twice = sorted(TARGET_FIELDS & scheduled.fields.keys())
        task = self._task_of(scheduled)
        if task is None:
            return {}
        if twice:
            given = scheduled.fields[twice[0]]
            raise invalid(twice[0], given, f"is given beside the task {task}", "give one of them")
        return {"task": task}

    def _task_of(self, scheduled: Scheduled) -> Any:
        """The name of its task."""
        task = scheduled.task
        if task is None or not callable(task):
            return task
        tasks = self.registry.tasks.items()
        return next((name for name, each in tasks if each is task), name_of(task))

    def _check_target(self, _key: str, scheduled: Scheduled) -> None:
        """Tasks must be registered, and take the arguments that they are given."""
        task = self._task_of(scheduled)
        fields = scheduled.fields if task is None else {**scheduled.fields, "task": task}
        is_known = task in self.registry.tasks if isinstance(task, str) else task is None
        if _is_among(self._refused, scheduled.task) or (not is_known and task in self._refused):
            return  # reported where it is registered
        try:
            target = KINDS.read(fields)
        except Invalid:
            return  # reading the declaration reports it
        if target.kind == "task":
            self._check_task(target, scheduled.task)
        if target.kind == "workflow":
            self._check_workflow(target)

    def _check_task(self, target: Target, given: Function | str | None) -> None:
        name, tasks = target.fields["task"], self.registry.tasks
        function = tasks.get(name)
        if function is None:
            near = get_close_matches(name, tasks, n=1)
            remedy = f"did you mean {near[0]}?" if near else "decorate its function with @app.task"
            if callable(given):
                remedy = f"decorate it with @app.task, at {place_of(given)}"
            raise invalid("task", name, "is not registered", remedy)
        if callable(given) and given is not function:
            remedy = (
                f"decorate it with @app.task; another one of that name is at {place_of(function)}"
            )
            raise invalid("task", name, "is not registered", remedy)
        check_arguments(name, function, target.fields["args"], target.fields["kwargs"])

    def _check_workflow(self, target: Target) -> None:
        number, node = target.fields["workflow_id"], target.fields["trigger_node_id"]
        workflow = self.registry.workflows.get(number)
        if workflow is None:
            raise invalid(
                "workflow_id", number, "is not registered", "register it with @app.workflow"
            )
        if node is not None and workflow.nodes and node not in workflow.nodes:
            remedy = f"use one of {', '.join(sorted(workflow.nodes))}"
            raise invalid("trigger_node_id", node, "is not one of its nodes", remedy)


def _line_of(problem: Problem) -> tuple[str, int]:
    """As `jobs.py:12: schedule "nightly"` says it."""
    found = re.match(r"(.*?):(\d+)\b", problem.place)
    return (found[1], int(found[2])) if found else (problem.place, 0)


def _is_among(those: Sequence[object], value: object) -> bool:
    return callable(value) and any(each is value for each in those)
