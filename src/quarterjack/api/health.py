"""`/healthz`: the program lives. `/readyz`: it works; if not, 503, why, and when to ask again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

_REQUEST_SECONDS = 5
_HEADER_BYTES_MAX = 8192
_RETRY_AFTER_SECONDS = 5
CONNECTIONS_MAX = 64
_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


async def serve_health(host: str, port: int, problems: Callable[[], list[str]]) -> asyncio.Server:
    """Answer on this address; `problems` says why the program is not ready. Of too many connections
    the oldest is closed, so that whoever asks is answered."""
    connected: dict[asyncio.StreamWriter, None] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
            pass  # whoever asked is gone, too slow or too wordy: nobody waits for an answer
        finally:
            connected.pop(writer, None)
            writer.close()

    return await asyncio.start_server(answer, host, port, limit=_HEADER_BYTES_MAX)


def _response(head: bytes, problems: Callable[[], list[str]]) -> bytes:
    method, _, rest = head.decode("latin-1").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0].rstrip("/")
    if path not in ("/healthz", "/readyz"):
        return _written(404, {"status": "not found"}, method)
    if method not in ("GET", "HEAD"):
        return _written(405, {"status": "only GET"}, method)
    found = problems() if path == "/readyz" else []
    if found:
        return _written(503, {"status": "not ready", "problems": found}, method)
    return _written(200, {"status": "ok"}, method)


def _written(code: int, body: object, method: str) -> bytes:
    text = json.dumps(body).encode() + b"\n"
    later = f"Retry-After: {_RETRY_AFTER_SECONDS}\r\n" if code == 503 else ""
    head = (
        f"HTTP/1.1 {code} {_REASONS[code]}\r\n"
        "Content-Type: application/json\r\n"
        f"Content-Length: {len(text)}\r\n"
        "Cache-Control: no-store\r\n"
        f"{later}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else text)
