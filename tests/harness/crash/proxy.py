"""A proxy before PostgreSQL, in a thread of its own: what passes it may be delayed, swallowed, cut
off, or cut off when COMMIT was sent and before its answer came."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any

COMMIT = b"Q\x00\x00\x00\x0bcommit\x00"
"""As it is sent."""


class Proxy:
    """Between any number of clients and one server; what it does may be set at any time."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self.delay_seconds = 0.0
        self.is_refusing = False
        """Nobody is let in, and whoever is in is thrown out."""
        self.is_swallowing = False
        """Connections stay, and nothing passes: half-open, as after a router forgot them."""
        self.cuts_commits = 0
        """So many more are cut off after they were sent."""
        self.was_cut = 0
        self.rewrites: dict[bytes, bytes] = {}
        """What clients say, and what the server hears instead."""
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = int(self._call(self._listen()))

    def throw_out(self) -> None:
        """Every connection that there is."""
        self._loop.call_soon_threadsafe(self._close_all)

    def refuse(self) -> None:
        self.is_refusing = True
        self.throw_out()

    def heal(self) -> None:
        self.is_refusing = self.is_swallowing = False
        self.delay_seconds, self.cuts_commits = 0.0, 0
        self.throw_out()  # what was swallowed does not come back

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
            there, out = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, out}
        passing = [
            asyncio.create_task(self._pass(reader, out, self._heard)),
            asyncio.create_task(self._pass(there, writer, lambda data: data)),
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
        heard: Callable[[bytes], bytes],
    ) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := heard(await reader.read(65536)):
                if self.delay_seconds:
                    await asyncio.sleep(self.delay_seconds)
                while self.is_swallowing:
                    await asyncio.sleep(0.05)
                writer.write(data)
                await writer.drain()
                if heard == self._heard and self.cuts_commits and data.endswith(COMMIT):
                    # The server has it, or will have it: it is not taken back with the connection.
                    self.cuts_commits -= 1
                    self.was_cut += 1
                    return

    def _heard(self, data: bytes) -> bytes:
        for said, instead in self.rewrites.items():
            data = data.replace(said, instead)
        return data
