"""Somebody between us and PostgreSQL, as pgbouncer is: the process that it names is not the one
that answers."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

KEY = b"K\x00\x00\x00\x0c"
"""How the server begins to say which process answers; its number follows."""


@contextmanager
def pooled(url: str, port: int) -> Iterator[str]:
    """The same address, by way of a pool."""

    class Between(BaseRequestHandler):
        def handle(self) -> None:
            with socket.create_connection(("127.0.0.1", port)) as server:
                while forwarded(self.request, server):
                    pass

    with ThreadingTCPServer(("127.0.0.1", 0), Between) as between:
        serving = threading.Thread(target=between.serve_forever)
        serving.start()
        try:
            yield url.replace(f":{port}", f":{between.server_address[1]}")
        finally:
            between.shutdown()
            serving.join()


def forwarded(client: socket.socket, server: socket.socket) -> bool:
    """What has arrived at either side; False if one of them has gone."""
    ready, _, _ = select.select([client, server], [], [])
    for each in ready:
        data = each.recv(65536)
        if not data:
            return False
        if each is server and (place := data.find(KEY)) >= 0:
            data = data[: place + 5] + b"\x00\x00\x00\x01" + data[place + 9 :]
        (client if each is server else server).sendall(data)
    return True
