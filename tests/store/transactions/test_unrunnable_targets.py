"""A definition whose kind of target no live worker can run is refused, on every store: when it is
created, edited and declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from harness.declare.declarations import apply_to, declared_values
from harness.store.node_info import pid_of_ended_process, register_worker
from harness.store.stores import StoreClient, new
from quarterjack import rules
from quarterjack.errors import InvalidSpecification
from quarterjack.store.types import Caller
from quarterjack.times.instants import SECOND

Request: TypeAlias = Callable[[StoreClient], None]
COMMAND = {"every": "1h", "command": ["x"]}
TASK = {"every": "1h", "task": "t"}


def create(client: StoreClient) -> None:
    client.add("created", **COMMAND)


def create_several(client: StoreClient) -> None:
    client.add_all([new("good", client.now, **TASK), new("second", client.now, **COMMAND)])


def edit(client: StoreClient) -> None:
    edit_to(client, COMMAND)


def edit_to(client: StoreClient, fields: dict[str, object]) -> None:
    edited = new("edited", client.now, **fields).specification
    caller = Caller("ada", "test", "edit")
    edit = client.store.edit_schedule("edited", lambda *_: edited, rules.edit, client.now, caller)
    client(edit)


def declare_a_change(client: StoreClient) -> None:
    apply_to(client, declared_values(schedules={"declared": COMMAND}))


def declare_another(client: StoreClient) -> None:
    apply_to(client, declared_values(name="other", schedules={"another": COMMAND}))


REQUESTS: dict[Request, str] = {
    create: "created",
    create_several: "second",
    edit: "edited",
    declare_a_change: "declared",
    declare_another: "another",
}
"""Each for a schedule of a command, with its key."""


def add_tasks(client: StoreClient) -> None:
    """Two schedules for the requests that change one."""
    client.add("edited", **TASK)
    apply_to(client, declared_values(schedules={"declared": TASK}))


def kinds(client: StoreClient) -> dict[str, str]:
    schedules = [found.schedule for found in client.reads.schedules()]
    return {each.key: each.specification.target.kind for each in schedules}


@pytest.mark.parametrize("request_command", REQUESTS)
def test_a_kind_that_no_live_worker_can_run_is_refused(
    client: StoreClient, request_command: Request
):
    add_tasks(client)
    register_worker(client, "w1", ["task", "http"])
    register_worker(client, "w2", ["plugin"])

    with pytest.raises(InvalidSpecification) as error:
        request_command(client)

    assert str(error.value).endswith(
        f'schedule "{REQUESTS[request_command]}": target "command" cannot be run by any live '
        "worker: they run http, plugin, task; start a worker that can, or use one of these kinds"
    )
    assert kinds(client) == {"edited": "task", "declared": "task"}


def test_a_declaration_names_the_place_of_every_kind_that_cannot_run(client: StoreClient):
    register_worker(client, "w1", ["task"])
    declaration = declared_values(schedules={"one": COMMAND, "good": TASK, "two": COMMAND})

    with pytest.raises(InvalidSpecification) as error:
        apply_to(client, declaration)

    places = [problem.place for problem in error.value.problems]
    assert places == [
        f'{declaration.source.place("schedules", key)}: schedule "{key}"' for key in ("one", "two")
    ]


def accepts_every_request(client: StoreClient) -> bool:
    for request_command in REQUESTS:
        request_command(client)
    return kinds(client) == dict.fromkeys(REQUESTS.values(), "command") | {"good": "task"}


def test_a_kind_that_one_of_the_live_workers_can_run_is_accepted(client: StoreClient):
    add_tasks(client)
    register_worker(client, "w1", ["task"])
    register_worker(client, "w2", ["command", "task"])

    assert accepts_every_request(client)


def test_every_kind_is_accepted_if_no_worker_is_alive(client: StoreClient):
    add_tasks(client)
    long_ago = client.store.now() - 21 * SECOND
    register_worker(client, "dead", ["task"], pid=pid_of_ended_process(), seen_at=long_ago)

    assert accepts_every_request(client)


def test_every_kind_is_accepted_if_a_worker_of_an_older_program_is_alive(client: StoreClient):
    add_tasks(client)
    register_worker(client, "new", ["task"])
    register_worker(client, "old", None)

    assert accepts_every_request(client)


def test_every_kind_is_accepted_if_the_live_nodes_only_plan(client: StoreClient):
    add_tasks(client)
    register_worker(client, "planner", ["task"], works=False)

    assert accepts_every_request(client)


def test_an_edit_that_keeps_the_kind_is_accepted(client: StoreClient):
    client.add("edited", **COMMAND)
    register_worker(client, "w1", ["task"])

    edit_to(client, COMMAND | {"every": "2h"})

    schedule = client.reads.schedule("edited").schedule
    assert (schedule.version, kinds(client)) == (2, {"edited": "command"})
