"""Runs a service in the foreground of a console: logs to standard error, stops on SIGTERM and
SIGINT, and ends the process though a task ignores its cancellation."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys

from quarterjack.errors import QuarterjackError
from quarterjack.service import Service
from quarterjack.telemetry.logs import configure_logging, log, log_fields

_CANCELLING_SECONDS = 2.0


def run_in_foreground(service: Service, loglevel: str) -> None:
    """Until the service is stopped by a signal."""
    configure_logging(loglevel)
    asyncio.run(_run(service))


async def _run(service: Service) -> None:
    for each in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(each, service.stop)
    problem: QuarterjackError | None = None
    try:
        await service.run(_freeze)
    except QuarterjackError as error:
        problem = error
    await _exit_if_tasks_ignore_cancellation()
    if problem is not None:
        raise problem


def _freeze() -> None:
    """What was loaded to start with lives as long as the process: collections skip it."""
    gc.collect()
    gc.freeze()


async def _exit_if_tasks_ignore_cancellation() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    stuck = (await asyncio.wait(left, timeout=_CANCELLING_SECONDS))[1] if left else set()
    if stuck:
        log.error("exiting; tasks ignored cancellation %s", log_fields(count=len(stuck)))
        _exit(1)


def _exit(code: int) -> None:
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)
