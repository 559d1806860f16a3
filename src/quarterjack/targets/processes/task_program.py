"""The small program that a task process starts with: it takes over the search path of its worker,
and has nothing of the program yet."""

from __future__ import annotations

import json
import os
import socket
import sys


def main() -> None:
    connection = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    requests = connection.makefile("rb")
    start = json.loads(requests.readline())
    sys.path[:] = start["program"]["path"]
    from quarterjack.targets.processes.task_process import serve

    serve(connection, requests, start)


if __name__ == "__main__":
    main()
