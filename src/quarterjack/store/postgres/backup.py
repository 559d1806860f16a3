"""Backup of our schema with `pg_dump`. The credentials are passed in its environment, which only
this user can read, and not as arguments, which everybody can see."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, PIPE, run
from urllib.parse import parse_qsl, unquote, urlsplit

from quarterjack.errors import Conflict
from quarterjack.store.address import Address
from quarterjack.store.postgres.connection import CONNECT_SECONDS, connected

LOCK_SECONDS = 30
_PARAMETERS = frozenset(
    {
        "host", "port", "dbname", "database", "user", "password", "passfile", "service",
        "servicefile", "sslmode", "sslcert", "sslkey", "sslrootcert", "sslcrl", "sslnegotiation",
        "target_session_attrs", "krbsrvname", "gsslib",
    }
)  # fmt: skip
"""The connection parameters of a URL for which libpq has an environment variable."""


def dump(address: Address, target: Path) -> None:
    """Into an existing, empty file."""
    command = [_pg_dump(asyncio.run(_server_version(address)))]
    command += ["--format=custom", f"--schema={address.schema}", "--strict-names"]
    command += ["--no-password", f"--lock-wait-timeout={LOCK_SECONDS}s"]
    variables = os.environ | environment(address)
    with target.open("wb") as file:
        done = run(  # noqa: S603
            command, stdin=DEVNULL, stdout=file, stderr=PIPE, env=variables, check=False
        )
    if done.returncode:
        output = " ".join(done.stderr.decode(errors="replace").split())
        remedy = "see its message, and try again"
        if "permission denied" in output:
            remedy = "use the owner of the tables, or a user with the role pg_read_all_data"
        raise Conflict(f"backup of {address}: pg_dump failed ({output}); {remedy}")


def environment(address: Address) -> dict[str, str]:
    """The connection parameters as environment variables of libpq."""
    variables: dict[str, str] = {}
    for name, value in _parameters(address.url):
        if value and name in _PARAMETERS:
            word = "database" if name == "dbname" else name.replace("_", "")
            variables.setdefault(f"PG{word.upper()}", value)
    variables.setdefault("PGCONNECT_TIMEOUT", str(CONNECT_SECONDS))
    return variables | {"PGAPPNAME": "quarterjack backup"}


def _parameters(url: str) -> Iterator[tuple[str, str]]:
    """In order of precedence: the query string comes last."""
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    user, _, password = credentials.partition(":")
    found = [re.fullmatch(r"(\[.*\]|[^:]*):?(\d*)", each) for each in hosts.split(",")]
    yield "user", unquote(user)
    yield "password", unquote(password)
    yield "host", ",".join(unquote(each[1].strip("[]")) for each in found if each)
    if any(each[2] for each in found if each):
        yield "port", ",".join(each[2] for each in found if each)
    yield "dbname", unquote(parts.path.removeprefix("/"))
    yield from parse_qsl(parts.query)


def _pg_dump(server: int) -> str:
    """The path of a `pg_dump` at least as new as the server."""
    program = shutil.which("pg_dump")
    remedy = f"install the client programs of PostgreSQL {server}, and put them first in PATH"
    if program is None:
        raise Conflict(f"backup: pg_dump not found; {remedy}")
    done = run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = re.search(r"\d+", done.stdout)
    if version is None or int(version[0]) < server:
        output = done.stdout.strip() or "unknown version"
        raise Conflict(f"backup: {program} is too old for PostgreSQL {server} ({output}); {remedy}")
    return program


async def _server_version(address: Address) -> int:
    async with connected(address, "quarterjack backup", CONNECT_SECONDS) as connection:
        return int(connection.get_server_version().major)
