"""Sync no-op tasks that other processes can import: for Quarterjack, Celery and others."""

from __future__ import annotations

import os

from celery import Celery

from quarterjack import Quarterjack

app = Quarterjack(name="bench")
REDIS = os.environ.get("BENCH_REDIS", "redis://127.0.0.1:1")
celery = Celery(broker=REDIS, backend=REDIS)


@app.task
def work() -> None:
    """Does nothing."""


@celery.task  # type: ignore[untyped-decorator]
def celery_work() -> None:
    """Does nothing."""
