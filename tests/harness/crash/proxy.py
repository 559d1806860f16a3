"""A proxy in front of PostgreSQL, in its own thread. It can delay or discard traffic, close
connections, and close them between a COMMIT and its answer."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any

COMMIT = b"Q\x00\x00\x00\x0bcommit\x00"
"""As clients send it."""


class Proxy:
    """Its attributes may be set at any time."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self.delay_seconds = 0.0
        self.is_refusing = False
        """New connections are refused, and open ones closed."""
        self.is_discarding = False
        """Connections stay open and nothing passes, as after a router has lost their state."""
        self.commits_to_cut = 0
        """How many more connections are closed after a COMMIT was sent."""
        self.commits_cut = 0
        self.rewrites: dict[bytes, bytes] = {}
        """Bytes from clients, and what the server receives instead."""
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = int(self._call(self._listen()))

    def close_connections(self) -> None:
        self._loop.call_soon_threadsafe(self._close_all)

    def refuse(self) -> None:
        self.is_refusing = True
        self.close_connections()

    def heal(self) -> None:
        self.is_refusing = self.is_discarding = False
        self.delay_seconds, self.commits_to_cut = 0.0, 0
        self.close_connections()  # discarded traffic is not repeated

    def close(self) -> None:
        self.refuse()
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    def _call(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(10)

    async def _listen(self) -> int:
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._listening.sockets[0].getsockname()[1])

    async def _stop(self) -> None:
        self._listening.close()
        for task in asyncio.all_tasks(self._loop) - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)

    def _close_all(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_refusing:
            writer.transport.abort()
            return
        try:
            server, out = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, out}
        passing = [
            asyncio.create_task(self._pass(reader, out, self._rewrite)),
            asyncio.create_task(self._pass(server, writer, lambda data: data)),
        ]
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        for task in passing:
            task.cancel()
        self._open -= {writer, out}
        writer.transport.abort()
        out.transport.abort()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        rewrite: Callable[[bytes], bytes],
    ) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := rewrite(await reader.read(65536)):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                while self.is_discarding:
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
                if rewrite == self._rewrite and self.commits_to_cut and data.endswith(COMMIT):
                    # The server has received it, or will: closing does not take it back.
                    self.commits_to_cut -= 1
                    self.commits_cut += 1
                    return

    def _rewrite(self, data: bytes) -> bytes:
        for sent, received in self.rewrites.items():
            data = data.replace(sent, received)
        return data
