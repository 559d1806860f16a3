"""`workflow_id`: an event for a workflow, and for one of its nodes. Workflows are functions that a
program registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quarterjack.rules.definition.target import ID, LABEL, TargetKind
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.functions import Functions
from quarterjack.targets.registrations import Workflow
from quarterjack.times.instants import to_text

KIND = TargetKind(
    "workflow",
    "workflow_id: 1",
    {"workflow_id": ID, "trigger_node_id": LABEL},
    preset="pipelit",
    name=lambda fields: str(fields["workflow_id"]),
)


def event_of(call: Call) -> dict[str, Any]:
    """The event that a workflow is given."""
    return {
        "event": "schedule",
        "timestamp": to_text(call.slot),
        "workflow_id": call.fields["workflow_id"],
        "trigger_node_id": call.fields["trigger_node_id"],
        "user": call.owner,
        "event_data": {
            "scheduled_job_id": call.schedule_id,
            "scheduled_job_name": call.name or call.key,
            "repeat_number": call.repeat_number,
            "payload": dict(call.payload),
        },
    }


class WorkflowTarget:
    """Calls registered workflows with the event; the run succeeds if the workflow does."""

    def __init__(self, workflows: Mapping[int, Workflow], functions: Functions) -> None:
        self._workflows = workflows
        self._functions = functions

    async def act(self, call: Call) -> Answer:
        number, node = call.fields["workflow_id"], call.fields["trigger_node_id"]
        workflow = self._workflows.get(number)
        if workflow is None:
            return Answer(f"workflow {number} is not registered in this worker; register it")
        if node is not None and workflow.nodes and node not in workflow.nodes:
            known = ", ".join(sorted(workflow.nodes))
            return Answer(f'workflow {number} has no node "{node}"; its nodes are {known}')
        name, event = ("workflow", str(number)), event_of(call)
        return await self._functions.call(workflow.function, name, call, [event])

    async def close(self) -> None:
        await self._functions.close()
