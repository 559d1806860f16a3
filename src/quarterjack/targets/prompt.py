"""`prompt`: text for a language model."""

from __future__ import annotations

from quarterjack.rules.definition.target import LABEL, MAPPING, TEXT, TargetKind

KIND = TargetKind(
    "prompt",
    "prompt: Check the queue",
    {"prompt": TEXT, "model": LABEL, "opts": MAPPING},
    preset="agent",
)
