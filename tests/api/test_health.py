"""`/healthz` among many who connect and say nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from quarterjack.api import health

Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[], Awaitable[Connection]]


def served(asking: Callable[[Connect], Awaitable[None]]) -> None:
    async def serve() -> None:
        server = await health.serve_health("127.0.0.1", 0, list)
        port = server.sockets[0].getsockname()[1]
        async with server:
            await asking(lambda: asyncio.open_connection("127.0.0.1", port))

    asyncio.run(asyncio.wait_for(serve(), 30))


async def are_closed(connections: list[Connection]) -> bool:
    """By the other side, without a word; else this waits in vain."""
    said = await asyncio.gather(*(reader.read() for reader, _ in connections))
    for _, writer in connections:
        writer.close()
    return not any(said)


async def caller(connect: Connect) -> bytes:
    reader, writer = await connect()
    writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


def test_whoever_asks_is_answered_though_many_others_say_nothing():
    async def asking(connect: Connect) -> None:
        idle = [await connect() for _ in range(3 * health.CONNECTIONS_MAX)]
        answers = [await caller(connect) for _ in range(3)]

        assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * 3
        surplus = len(idle) - health.CONNECTIONS_MAX
        assert await are_closed(idle[:surplus]), "the oldest, to make room"
        for _, writer in idle[surplus:]:
            writer.close()

    served(asking)


def test_whoever_says_nothing_for_a_while_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "_REQUEST_SECONDS", 0.1)

    async def asking(connect: Connect) -> None:
        assert await are_closed([await connect() for _ in range(3)])

    served(asking)
