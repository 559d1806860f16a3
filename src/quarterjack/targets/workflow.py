"""`workflow_id`: an event for a workflow, and for one of its nodes."""

from __future__ import annotations

from quarterjack.rules.definition.target import ID, LABEL, TargetKind

KIND = TargetKind(
    "workflow", "workflow_id: 1", {"workflow_id": ID, "trigger_node_id": LABEL}, preset="pipelit"
)
