"""`celery`: a task of a Celery application."""

from __future__ import annotations

from quarterjack.rules.definition.target import MAPPING, TargetKind

KIND = TargetKind("celery", "celery: {task: app.work, queue: default}", {"celery": MAPPING})
