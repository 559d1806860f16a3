"""What the live workers can run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from harness.rules.values import specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import Specification
from quarterjack.rules.definition.capabilities import Capabilities, check_runnable

COMMAND = specification(every="1h", command=["x"])
CLEANUP = specification(every="1h", task="cleanup")


def kinds(*names: str) -> Capabilities:
    """Any target of these kinds."""
    return Capabilities(dict.fromkeys(names))


def tasks(*names: str) -> Capabilities:
    """Commands, and these tasks."""
    return Capabilities({"command": None, "task": names})


def refusal(wanted: Specification, *workers: Capabilities | None) -> str | None:
    try:
        check_runnable(wanted, workers)
    except InvalidSpecification as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("workers", "refused"),
    [
        ([], False),
        ([kinds("command")], False),
        ([kinds("task"), kinds("command", "task")], False),
        ([kinds("task"), None], False),
        ([kinds("task")], True),
        ([kinds("task"), kinds("http")], True),
        ([kinds()], True),
    ],
)
def test_a_kind_is_refused_if_every_live_worker_is_known_not_to_run_it(
    workers: Sequence[Capabilities | None], refused: bool
):
    assert (refusal(COMMAND, *workers) is not None) is refused


@pytest.mark.parametrize(
    ("workers", "refused"),
    [
        ([tasks("cleanup")], False),
        ([tasks("other"), tasks("cleanup", "other")], False),
        ([kinds("task")], False),  # of an older program, which stored no names
        ([tasks("other"), None], False),
        ([tasks("other")], True),
        ([tasks()], True),
    ],
)
def test_a_task_is_refused_if_every_live_worker_is_known_not_to_have_it_registered(
    workers: Sequence[Capabilities | None], refused: bool
):
    assert (refusal(CLEANUP, *workers) is not None) is refused


def test_the_error_names_the_kinds_that_the_workers_run():
    assert refusal(COMMAND, kinds("task", "http"), kinds("task")) == (
        'target "command" cannot be run by any live worker: '
        "they run http, task; start a worker that can, or use one of these kinds"
    )


@pytest.mark.parametrize(
    ("registered", "remedy"),
    [
        (["cleanups", "send"], "did you mean cleanups?"),
        (["send", "bill"], "registered are: bill, send"),
        ([], "registered are: none"),
    ],
)
def test_the_error_names_a_similar_task_or_those_that_are_registered(
    registered: list[str], remedy: str
):
    assert refusal(CLEANUP, tasks(*registered)) == (
        f'task "cleanup" is not registered in any live worker; {remedy}'
    )


@pytest.mark.parametrize("workers", [tasks("b", "a"), tasks(), kinds("http", "command")])
def test_capabilities_are_read_back_from_their_stored_form(workers: Capabilities):
    stored = Capabilities.from_text(workers.to_text())

    assert stored is not None
    assert {kind: names and sorted(names) for kind, names in stored.names.items()} == {
        kind: None if names is None else sorted(names) for kind, names in workers.names.items()
    }
    assert Capabilities.from_text(None) is None


def workflow(*nodes: str) -> Capabilities:
    """Workflow 7 with these trigger nodes; without one it accepts any."""
    return Capabilities({"workflow": ["7"]}, {"7": list(nodes)} if nodes else {})


@pytest.mark.parametrize(
    ("node", "workers", "refused"),
    [
        ("start", [workflow("start", "stop")], False),
        ("start", [workflow("stop"), workflow("start")], False),
        ("start", [workflow("stop"), workflow()], False),
        ("start", [workflow("stop"), None], False),
        (None, [workflow("stop")], False),
        ("start", [workflow("stop"), kinds("command")], True),
        ("start", [workflow("stop", "resume"), workflow("stop")], True),
    ],
)
def test_a_trigger_node_is_refused_if_no_live_worker_with_its_workflow_has_it(
    node: str | None, workers: Sequence[Capabilities | None], refused: bool
):
    wanted = specification(every="1h", workflow_id=7, trigger_node_id=node)

    assert (refusal(wanted, *workers) is not None) is refused


def test_the_refusal_of_a_trigger_node_names_those_that_there_are():
    wanted = specification(every="1h", workflow_id=7, trigger_node_id="start")
    stored = Capabilities.from_text(workflow("stop", "resume").to_text())

    assert refusal(wanted, stored) == (
        'trigger_node_id "start" is not a node of workflow 7 in any live worker; '
        "use one of resume, stop"
    )
