"""Starts and stops the schedules of `flask_app.py` in each worker process of gunicorn."""

from typing import Any


def post_worker_init(_worker: Any) -> None:
    """After the fork: threads that were started before it do not exist in the worker."""
    from flask_app import jobs

    jobs.start()


def worker_exit(_server: Any, _worker: Any) -> None:
    from flask_app import jobs

    jobs.stop()
