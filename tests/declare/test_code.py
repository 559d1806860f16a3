"""Registration: every mistake in a program is reported, with its place and a remedy."""

from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import datetime
from functools import partial
from typing import Any

import pytest

from quarterjack import Context, Depends, Quarterjack
from quarterjack.declare.functions import check_arguments
from quarterjack.errors import Invalid, InvalidSpecification

HERE = "test_code.py"


def problems(app: Quarterjack) -> list[str]:
    with pytest.raises(Invalid) as error:
        app.declaration()
    return [str(problem).partition("declare/")[2] for problem in error.value.problems]


def line() -> int:
    """Of the caller."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def cleanup(days: int, *, deep: bool = False) -> int:
    return days


CLEANUP = f"{HERE}:{line() - 4}"
TAKES = f"it takes (days: int, *, deep: bool = False), at {CLEANUP}; give args= or kwargs="


class Machine:
    def method(self) -> None: ...

    def __call__(self) -> None: ...


def generator() -> Any:
    yield 1


async def async_generator() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: 1, '"<lambda>" is a lambda; define it with def, at the top of a module'),
        (
            Machine().method,
            '"method" is a bound method; '
            "use a function at the top of a module; it can take the object as a dependency",
        ),
        (generator, '"generator" is a generator; return the result instead of yielding it'),
        (
            async_generator,
            '"async_generator" is a generator; return the result instead of yielding it',
        ),
        (Machine, '"Machine" is a class; use a function that creates the object'),
        (
            Machine(),
            '"Machine" is an object, not a function; '
            "define a function with def, at the top of a module",
        ),
        (
            partial(cleanup, 1),
            '"partial" is a partial; '
            "use a function, and give the arguments to the schedule, as args= and kwargs=",
        ),
        (print, '"print" is an object, not a function; '
         "define a function with def, at the top of a module"),
    ],
)  # fmt: skip
def test_what_cannot_be_called_by_a_worker_is_refused(function: Any, message: str):
    app = Quarterjack()
    app.task(function)
    app.task("named")(function)
    app.schedule("x", function, "1h")  # which is not reported as well

    first, second = problems(app)

    assert first.partition(": task ")[2] == message
    assert second.partition(": task ")[2] == f'"named"{message[message.index(" ") :]}'


def test_only_an_async_task_may_be_a_closure():
    app, count = Quarterjack(), 3

    @app.task
    async def counted() -> int:
        return count

    assert app.declaration()

    @app.task
    def counted_too() -> int:
        return count

    (problem,) = problems(app)

    assert problem.endswith(
        'task "counted_too" is defined inside another function, where no task process can find it; '
        "move it to the top of a module, or write it as async def"
    )
    assert list(app.source.registry.tasks) == ["counted"]


def test_a_sync_task_of_a_notebook_is_refused():
    shell = "from quarterjack import Quarterjack\n\napp = Quarterjack()\n"
    task = "@app.task\ndef report(): ...\n\napp.declaration()\n"

    ended = subprocess.run(
        [sys.executable, "-"], check=False, input=shell + task, text=True, capture_output=True
    )

    assert 'task "report" is defined in a notebook or a shell' in ended.stderr
    assert "in a file, or write it as async def" in ended.stderr


@pytest.mark.mission("H4")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "missing a required argument: 'days'"),
        ({"args": [1, 2]}, "too many positional arguments"),
        ({"args": [1], "kwargs": {"dep": 1}}, "got an unexpected keyword argument 'dep'"),
        ({"args": [1], "kwargs": {"days": 1}}, "multiple values for argument 'days'"),
    ],
)
def test_arguments_must_fit_the_signature_of_the_task(fields: dict[str, Any], message: str):
    app = Quarterjack()
    app.task(cleanup)
    app.schedule("x", cleanup, "1h", **fields)

    place = f"{HERE}:{line() - 2}"
    (found,) = problems(app)
    expected = f'{place}: schedule "x": task "cleanup" cannot be called so: {message}; {TAKES}'
    assert found.replace("tests/declare/", "") == expected


def evaluated() -> Any:
    """A function whose annotations are values, as without `from __future__ import annotations`."""

    def task(days: int, since: object = None, *names: str) -> None: ...

    task.__annotations__ = {"days": int, "since": datetime | None, "names": list[Machine]}
    return task


def test_a_signature_is_shown_as_it_is_written_also_with_evaluated_annotations():
    with pytest.raises(InvalidSpecification) as error:
        check_arguments("task", evaluated(), [], {})

    shown = "it takes (days: int, since: datetime.datetime | None = None, *names: list[Machine])"
    assert shown in str(error.value).replace(f"{__name__}.", "")


def with_context(context: Context, days: int, db: object = Depends(object)) -> None: ...


def before_variadic(context: Context, *days: int) -> None: ...


def test_the_context_and_dependencies_are_not_arguments_of_a_schedule():
    check_arguments("task", with_context, [1], {})
    check_arguments("task", with_context, [], {"days": 1})
    for args, kwargs in (([], {}), ([1, 2], {}), ([], {"context": 1}), ([1], {"db": 1})):
        with pytest.raises(InvalidSpecification):
            check_arguments("task", with_context, args, kwargs)
    check_arguments("task", before_variadic, [1, 2, 3], {})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"args": [{1}]}, "args [{1}] is not JSON"),
        ({"args": [1], "kwargs": {"deep": object}}, "kwargs {'deep': <class 'object'>} is not"),
        ({"args": [1], "kwargs": {1: 2}}, "kwargs {1: 2} has the key 1, which is not text"),
        ({"args": "text"}, 'args "text" is not a list'),
        ({"args": [1], "payload": {"a": {1}}}, "payload {'a': {1}} is not JSON"),
        ({"args": [1], "payload": [1]}, "payload [1] is not a mapping"),
        ({"args": [1], "queue": "nope"}, 'queue "nope" is not declared; use one of default'),
        ({"args": [1], "max_retry": 1}, "max_retry 1 is an unknown field; did you mean max_ret"),
        ({"args": [1], "command": ["x"]}, "command ['x'] is given beside the task cleanup"),
        ({"args": [1], "task": "x"}, 'task "x" is given beside the task cleanup'),
    ],
)
def test_a_wrong_field_of_a_schedule_is_reported_with_its_place(
    fields: dict[str, Any], message: str
):
    app = Quarterjack()
    app.task(cleanup)
    app.schedule("x", cleanup, "1h", **fields)

    place = f"{HERE}:{line() - 2}"
    (found,) = problems(app)
    assert found.startswith(f'{place}: schedule "x": {message}')


def second() -> None: ...


def unregistered() -> None: ...


@pytest.mark.mission("H4")
def test_names_keys_tasks_and_queues_are_checked_and_all_problems_reported_at_once():
    app = Quarterjack(queues=["default", "reports"], lease="1x")
    start = line() - 1
    app.task(cleanup)
    app.task("cleanup")(second)
    app.task("slow", queue="slow")(unregistered)
    app.schedule("a", "cleanupp", "1h")
    app.schedule("b", "nothing like it", "1h")
    app.schedule("c", cleanup, "1h", args=[1])
    app.schedule("c", cleanup, "2h", args=[1])
    app.schedule("d", generator, "1h")
    app.every("1h")
    app.schedule("e", None, "1h")  # type: ignore[call-overload]
    app.schedule("12", cleanup, "1h", args=[1])

    assert problems(app) == [
        f'{place_in_file(second)}: task "cleanup" is registered twice; '
        f"give one of them another name; the first is at tests/declare/{CLEANUP}",
        f'{place_in_file(unregistered)}: task slow: queue "slow" is not declared; '
        "use one of default, reports, or add it to queues",
        f'{HERE}:{start}: lease "1x" is not a valid duration; '
        "use units from large to small, such as 90s, 1h30m, 2w, 500ms or PT5M",
        f'{HERE}:{start + 5}: schedule "a": task "cleanupp" is not registered; '
        "did you mean cleanup?",
        f'{HERE}:{start + 6}: schedule "b": task "nothing like it" is not registered; '
        "decorate its function with @app.task",
        f'{HERE}:{start + 8}: schedule "c" is declared twice; '
        f"use another key; the first is at tests/declare/{HERE}:{start + 7}",
        f'{HERE}:{start + 9}: schedule "d": task "generator" is not registered; '
        f"decorate it with @app.task, at tests/declare/{place_in_file(generator)}",
        f'{HERE}:{start + 10}: schedule "?" has no task; write it as @app.every("5m") above a '
        "function, or as app.schedule(key, task, when)",
        f"{HERE}:{start + 11}: task None is not a task; give a function, or its name",
        f'{HERE}:{start + 12}: schedule "12" looks like an id; use a name with a letter, or none',
    ]


def place_in_file(function: Any) -> str:
    return f"{HERE}:{function.__code__.co_firstlineno}"


def test_a_function_is_not_taken_for_another_task_of_the_same_name():
    app = Quarterjack()
    app.task("second")(cleanup)
    app.schedule("x", second, "1h")

    (found,) = problems(app)

    assert found.endswith(
        'task "second" is not registered; decorate it with @app.task; '
        f"another one of that name is at tests/declare/{CLEANUP}"
    )


def no_event() -> None: ...


def takes_event(event: Any) -> None: ...


def takes_prompt(prompt: str, model: str, opts: Any, user: str) -> None: ...


def test_workflows_prompt_handlers_and_hooks_must_take_what_they_are_given():
    app = Quarterjack()
    app.workflow(7)(no_event)
    app.workflow(0)(takes_event)
    app.workflow(8)(takes_event)
    app.workflow(8)(takes_event)
    app.workflow(takes_event)
    app.prompt_handler(takes_event)
    app.prompt_handler(takes_prompt)
    app.prompt_handler(takes_prompt)
    app.on_worker_start(takes_event)
    app.on_worker_stop(no_event)

    found = sorted(each.partition(": ")[2].partition(";")[0] for each in problems(app))

    assert found == [
        "on_worker_start \"takes_event\" cannot be called: missing a required argument: 'event'",
        'prompt_handler "takes_event" cannot be called with (prompt, model, opts, user): '
        "got an unexpected keyword argument 'model'",
        'prompt_handler "takes_prompt" is registered twice',
        'workflow "no_event" cannot be called with (event): too many positional arguments',
        'workflow "takes_event" has no number',
        "workflow 0 is outside 1-9223372036854775807",
        "workflow 8 is registered twice",
    ]


def without_annotation(context, days: int) -> None: ...


def test_a_context_without_its_annotation_is_an_argument_and_the_error_says_so():
    app = Quarterjack()
    app.schedule("nightly", app.task(without_annotation), "1d", kwargs={"days": 3})

    (problem,) = problems(app)

    assert "missing a required argument: 'context'" in problem
    assert problem.endswith("is given to a parameter annotated `: Context`")


def test_a_schedule_of_an_unknown_workflow_or_node_is_refused():
    app = Quarterjack()
    app.workflow(7, nodes=["a", "b"])(takes_event)
    app.schedule("known", "1h", workflow_id=7, trigger_node_id="a")
    app.schedule("node", "1h", workflow_id=7, trigger_node_id="c")
    app.schedule("unknown", "1h", workflow_id=8)

    assert [each.partition(": ")[2] for each in problems(app)] == [
        'schedule "node": trigger_node_id "c" is not one of its nodes; use one of a, b',
        'schedule "unknown": workflow_id 8 is not registered; register it with @app.workflow',
    ]
