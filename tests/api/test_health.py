"""`/healthz` beside many idle connections."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import pytest

from quarterjack.api import health
from quarterjack.errors import Conflict

Connection: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect: TypeAlias = Callable[[], Awaitable[Connection]]


def run_server(client: Callable[[Connect], Awaitable[None]]) -> None:
    async def serve() -> None:
        server = await health.serve_health("127.0.0.1", 0, list)
        port = server.sockets[0].getsockname()[1]
        async with server:
            await client(lambda: asyncio.open_connection("127.0.0.1", port))

    asyncio.run(asyncio.wait_for(serve(), 30))


async def are_closed(connections: list[Connection]) -> bool:
    """Whether the server closes all of them without an answer; waits if it does not."""
    data = await asyncio.gather(*(reader.read() for reader, _ in connections))
    for _, writer in connections:
        writer.close()
    return not any(data)


async def get_healthz(connect: Connect) -> bytes:
    reader, writer = await connect()
    writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer


def test_a_request_is_answered_beside_many_idle_connections():
    async def client(connect: Connect) -> None:
        idle = [await connect() for _ in range(3 * health.CONNECTIONS_MAX)]
        answers = [await get_healthz(connect) for _ in range(3)]

        assert [answer.split(b"\r\n")[0] for answer in answers] == [b"HTTP/1.1 200 OK"] * 3
        surplus = len(idle) - health.CONNECTIONS_MAX
        assert await are_closed(idle[:surplus]), "the oldest, to make room"
        for _, writer in idle[surplus:]:
            writer.close()

    run_server(client)


def test_an_idle_connection_is_closed_after_the_timeout(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(health, "_REQUEST_SECONDS", 0.1)

    async def client(connect: Connect) -> None:
        assert await are_closed([await connect() for _ in range(3)])

    run_server(client)


def test_a_port_in_use_is_a_conflict():
    async def client(connect: Connect) -> None:
        _, writer = await connect()
        host, port = writer.get_extra_info("peername")
        with pytest.raises(Conflict, match=f"cannot bind 127.0.0.1:{port}"):
            await health.serve_health(host, port, list)
        writer.close()

    run_server(client)
