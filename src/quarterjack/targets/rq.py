"""`rq`: a job in a queue of Redis Queue."""

from __future__ import annotations

from quarterjack.rules.definition.target import MAPPING, TargetKind

KIND = TargetKind("rq", "rq: {function: app.work, queue: default}", {"rq": MAPPING})
