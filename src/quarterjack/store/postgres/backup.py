"""A dump of our schema, by PostgreSQL's own program. How to sign in is told to it in its
environment, which only this user can read, and not in its arguments, which everybody can."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import asyncpg

from quarterjack.clock import SystemClock
from quarterjack.errors import Conflict
from quarterjack.store.postgres.connection import (
    CONNECT_SECONDS,
    Address,
    ManagedConnection,
    refusal,
)

LOCK_SECONDS = 30
_VARIABLES = {
    "host": "PGHOST",
    "port": "PGPORT",
    "dbname": "PGDATABASE",
    "database": "PGDATABASE",
    "user": "PGUSER",
    "password": "PGPASSWORD",
    "passfile": "PGPASSFILE",
    "service": "PGSERVICE",
    "servicefile": "PGSERVICEFILE",
    "sslmode": "PGSSLMODE",
    "sslcert": "PGSSLCERT",
    "sslkey": "PGSSLKEY",
    "sslrootcert": "PGSSLROOTCERT",
    "sslcrl": "PGSSLCRL",
    "sslnegotiation": "PGSSLNEGOTIATION",
    "target_session_attrs": "PGTARGETSESSIONATTRS",
    "krbsrvname": "PGKRBSRVNAME",
    "gsslib": "PGGSSLIB",
}
"""What an address may say of how to get there, and where PostgreSQL's programs look for it."""


def dump(address: Address, made: Path) -> None:
    """Into this file, which is there and empty."""
    command = [_program(asyncio.run(_server_version(address)))]
    command += ["--format=custom", f"--schema={address.schema}", "--strict-names"]
    command += ["--no-password", f"--lock-wait-timeout={LOCK_SECONDS}s"]
    with made.open("wb") as file:
        done = subprocess.run(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            env=os.environ | environment(address),
            check=False,
        )
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        remedy = "look at what it says, and try again"
        if "permission denied" in said:
            remedy = "use the owner of the tables, or a user with the role pg_read_all_data"
        raise Conflict(f"backup of {address}: pg_dump failed ({said}); {remedy}")


def environment(address: Address) -> dict[str, str]:
    """The same address, in the variables that PostgreSQL's programs know."""
    said: dict[str, str] = {}
    for name, value in _said(address.url):
        if value and name in _VARIABLES:
            said.setdefault(_VARIABLES[name], value)
    said.setdefault("PGCONNECT_TIMEOUT", str(CONNECT_SECONDS))
    return said | {"PGAPPNAME": "quarterjack backup"}


def _said(url: str) -> Iterator[tuple[str, str]]:
    """What stands before the question mark counts first."""
    parts = urlsplit(url)
    signing_in, _, hosts = parts.netloc.rpartition("@")
    user, _, password = signing_in.partition(":")
    found = [re.fullmatch(r"(\[.*\]|[^:]*):?(\d*)", each) for each in hosts.split(",")]
    yield "user", unquote(user)
    yield "password", unquote(password)
    yield "host", ",".join(unquote(each[1].strip("[]")) for each in found if each)
    if any(each[2] for each in found if each):
        yield "port", ",".join(each[2] for each in found if each)
    yield "dbname", unquote(parts.path.removeprefix("/"))
    yield from parse_qsl(parts.query)


def _program(server: int) -> str:
    """A `pg_dump` that knows the server: it may be newer, but not older."""
    program = shutil.which("pg_dump")
    remedy = f"install the client programs of PostgreSQL {server}, and put them first in PATH"
    if program is None:
        raise Conflict(f"backup: there is no pg_dump here; {remedy}")
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)  # noqa: S603
    version = re.search(r"\d+", told.stdout)
    if version is None or int(version[0]) < server:
        said = told.stdout.strip() or "it does not tell its version"
        raise Conflict(f"backup: {program} is too old for PostgreSQL {server} ({said}); {remedy}")
    return program


async def _server_version(address: Address) -> int:
    link = ManagedConnection(address, "quarterjack backup", CONNECT_SECONDS, SystemClock().chance)
    try:
        return int((await link.connection()).get_server_version().major)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as error:
        raise refusal(error, address) from error
    finally:
        await link.close()
