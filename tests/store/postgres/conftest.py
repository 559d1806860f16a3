"""Fixtures of the tests of the store on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

from harness.store.server import server


@pytest.fixture
def url() -> str:
    """The address of a schema that does not exist yet."""
    return f"{server().url}?schema=s{uuid4().hex[:12]}"


@pytest.fixture
def run() -> Iterator[Callable[[Awaitable[Any]], Any]]:
    """Runs a coroutine, with a time limit."""
    with asyncio.Runner() as runner:
        yield lambda coroutine: runner.run(asyncio.wait_for(coroutine, 30))
