"""A proxy that looks like pgbouncer in transaction mode: the process id that the client is given
at connect is not the one of the server process."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

KEY = b"K\x00\x00\x00\x0c"
"""The start of the BackendKeyData message; the process id follows."""


@contextmanager
def pooled(url: str, port: int) -> Iterator[str]:
    """The same address through the proxy."""

    class Proxy(BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", port)) as server:
                while forwarded(self.request, server):
                    pass

    with ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxy:
        serving = threading.Thread(target=proxy.serve_forever)
        serving.start()
        try:
            yield url.replace(f":{port}", f":{proxy.server_address[1]}")
        finally:
            proxy.shutdown()
            serving.join()


def forwarded(client: socket.socket, server: socket.socket) -> bool:
    """Forward what has arrived from either side; False if one of them has disconnected."""
    ready, _, _ = select.select([client, server], [], [])
    for each in ready:
        data = each.recv(65536)
        if not data:
            return False
        if each is server and (place := data.find(KEY)) >= 0:
            data = data[: place + 5] + b"\x00\x00\x00\x01" + data[place + 9 :]
        (client if each is server else server).sendall(data)
    return True
