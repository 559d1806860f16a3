"""Workflows: the event that one is given, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.engine.service import SteppedService
from harness.targets.calls import functions_here, new_call
from quarterjack import Context, Depends, Err
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.registrations import Workflow
from quarterjack.targets.workflow import WorkflowTarget, event_of

EVENT = {
    "event": "schedule",
    "timestamp": "2026-11-16T09:00:00Z",
    "workflow_id": 7,
    "trigger_node_id": "start",
    "user": "ada",
    "event_data": {
        "scheduled_job_id": 7,
        "scheduled_job_name": "nightly",
        "repeat_number": 3,
        "payload": {"report_type": "daily"},
    },
}


def call_of(number: int = 7, node: str | None = "start", **changes: Any) -> Call:
    call = new_call(workflow_id=number, trigger_node_id=node)
    return call._replace(payload={"report_type": "daily"}, **changes)


def answered(function: Any, call: Call, nodes: tuple[str, ...] = ()) -> Answer:
    workflows = {7: Workflow(function, frozenset(nodes))}
    target = WorkflowTarget(workflows, functions_here({("workflow", "7"): function}))
    return asyncio.run(target.act(call))


@pytest.mark.mission("P7")
@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_a_workflow_is_called_with_the_event_and_its_result_is_that_of_the_run(is_async: bool):
    async def later(event: dict[str, Any]) -> dict[str, Any]:
        return event

    def now(event: dict[str, Any]) -> dict[str, Any]:
        return event

    assert answered(later if is_async else now, call_of()) == Answer(result=EVENT)


def test_the_event_names_the_schedule_as_people_see_it():
    data = event_of(call_of(name="Nightly report"))["event_data"]

    assert data["scheduled_job_name"] == "Nightly report"


@pytest.mark.mission("P7")
def test_the_success_of_a_run_is_that_of_its_workflow():
    async def declined(event: dict[str, Any]) -> Err:
        return Err("no_start_node", "the workflow is empty")

    async def broken(event: dict[str, Any]) -> None:
        raise ValueError("bad day")

    assert answered(declined, call_of()) == Answer("the workflow is empty", code="no_start_node")
    with pytest.raises(ValueError, match="bad day"):
        answered(broken, call_of())


@pytest.mark.mission("P7")
def test_the_timestamp_is_the_slot_and_the_first_repeat_has_number_0(service: SteppedService):
    """A failure counts no repeat, nor does another attempt."""
    events: list[dict[str, Any]] = []

    def work(call: Call) -> None:
        fields = {"workflow_id": 7, "trigger_node_id": None}
        events.append(event_of(call._replace(fields=fields)))
        if call.attempt == 1 and len(events) == 1:
            raise ValueError

    service.work = work
    service.add(every="1h", max_retries=1, retry_delay="10m")
    service.run_until("10:59")

    told = [(each["timestamp"], each["event_data"]["repeat_number"]) for each in events]
    assert told == [
        ("2026-11-16T09:00:00Z", 0),
        ("2026-11-16T09:00:00Z", 0),
        ("2026-11-16T10:00:00Z", 1),
    ]


def test_a_workflow_may_take_the_context_and_dependencies():
    def folder() -> str:
        return "work"

    def flow(context: Context, event: dict[str, Any], given: str = Depends(folder)) -> list[Any]:
        return [context.run_id, event["workflow_id"], given]

    assert answered(flow, call_of()).result == ["7-3", 7, "work"]


def test_a_workflow_that_changes_the_event_changes_no_payload():
    def flow(event: dict[str, Any]) -> None:
        event["event_data"]["payload"]["days"].append(2)

    call = call_of()._replace(payload={"days": [1]})
    answered(flow, call)

    assert call.payload == {"days": [1]}


def test_an_unknown_workflow_is_a_failure():
    answer = answered(print, call_of(8))

    assert answer.error == "workflow 8 is not registered in this worker; register it"


def test_an_unknown_node_is_a_failure_that_names_those_that_there_are():
    answer = answered(print, call_of(node="strat"), nodes=("start", "retry"))

    assert answer.error == 'workflow 7 has no node "strat"; its nodes are retry, start'


@pytest.mark.parametrize(
    ("node", "nodes"), [("any", ()), (None, ("start",)), ("start", ("start",))]
)
def test_a_known_node_none_and_any_where_none_are_listed(node: str | None, nodes: tuple[str, ...]):
    def flow(event: dict[str, Any]) -> Any:
        return event["trigger_node_id"]

    assert answered(flow, call_of(node=node), nodes=nodes) == Answer(result=node)
