"""`/healthz`: 200 while the process runs. `/readyz`: 200, or 503, the problems and Retry-After."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from quarterjack.errors import Conflict

_REQUEST_SECONDS = 5
_HEADER_BYTES_MAX = 8192
_RETRY_AFTER_SECONDS = 5
CONNECTIONS_MAX = 64
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


async def serve_health(host: str, port: int, problems: Callable[[], list[str]]) -> asyncio.Server:
    """Serve both endpoints. `problems` returns why the process is not ready.

    Above `CONNECTIONS_MAX` the oldest connection is closed, so that idle ones cannot block a probe.
    """
    connected: dict[asyncio.StreamWriter, None] = {}

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected[writer] = None
        if len(connected) > CONNECTIONS_MAX:
            oldest = next(iter(connected))
            del connected[oldest]
            oldest.transport.abort()
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(_response(head, problems))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client disconnected, timed out or sent too large a header
        finally:
            connected.pop(writer, None)
            writer.close()

    try:
        return await asyncio.start_server(handle, host, port, limit=_HEADER_BYTES_MAX)
    except (OSError, UnicodeError) as error:
        remedy = "use another --host or --port, or stop the program that uses it"
        raise Conflict(f"cannot bind {host}:{port} ({error}); {remedy}") from error


def _response(head: bytes, problems: Callable[[], list[str]]) -> bytes:
    method, _, rest = head.decode("latin-1").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0].rstrip("/")
    if path not in ("/healthz", "/readyz"):
        return _encode(404, {"status": "not found"}, method)
    if method not in ("GET", "HEAD"):
        return _encode(405, {"status": "method not allowed"}, method)
    if path == "/readyz" and (found := problems()):
        return _encode(503, {"status": "not ready", "problems": found}, method)
    return _encode(200, {"status": "ok"}, method)


def _encode(code: int, body: object, method: str) -> bytes:
    text = json.dumps(body).encode() + b"\n"
    retry_after = f"Retry-After: {_RETRY_AFTER_SECONDS}\r\n" if code == 503 else ""
    head = (
        f"HTTP/1.1 {code} {_REASONS[code]}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(text)}\r\n"
        "Cache-Control: no-store\r\n"
        f"{retry_after}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else text)
