"""`command`: a program with its arguments, without a shell, in a session and an environment of its
own. It ends with its worker, and so does everything it has started."""

from __future__ import annotations

import asyncio
import os

from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.input_checks import check_json
from quarterjack.rules.definition.target import TargetField, TargetKind
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.processes.supervised import Supervisors, end_of, signal_name

GRACE_SECONDS = 5
"""Between SIGTERM and SIGKILL."""
PAYLOAD_MAX = 131_000
"""Bytes. A command gets its payload in one environment variable; Linux allows 128 KiB."""
_EXAMPLE = "command: [pg_dump, app]"
_PASSED_VARIABLES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR")


def _check_argv(value: list[object], name: str) -> list[str]:
    if not all(isinstance(part, str) for part in value):
        remedy = f"write it as in {_EXAMPLE}"
        raise InvalidSpecification.because(name, value, "is not a list of text", remedy)
    return check_json(value, name)  # type: ignore[no-any-return]


KIND = TargetKind(
    "command", _EXAMPLE, {"command": TargetField(list, _check_argv)}, payload_max=PAYLOAD_MAX
)


class CommandTarget:
    """Runs a command for each attempt."""

    def __init__(self, supervisors: Supervisors) -> None:
        self._supervisors = supervisors

    async def act(self, call: Call) -> Answer:
        passed = {name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ}
        argv, environment = call.fields["command"], passed | call.environment()
        command = await self._supervisors.start(argv, environment, call.write)
        try:
            status = await command.wait()
        except asyncio.CancelledError:
            # Shielded: a cancelled attempt may end only after its command has ended.
            await asyncio.shield(command.stop(GRACE_SECONDS))
            raise
        finally:
            await command.close()
        return _answer(status)

    async def close(self) -> None:
        await self._supervisors.close()


def _answer(status: str) -> Answer:
    problem, code = end_of(status)
    if problem is not None:
        return Answer(problem)
    if code < 0:
        return Answer(f"killed by {signal_name(-code)}")
    return Answer(f"exit code {code}" if code else None)
