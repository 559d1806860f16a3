"""What a task process does: it imports the program, then takes one call after the other, in its
main thread, and answers each.

Messages are lines of JSON. It is given `start` once and then calls; it sends `ready` or `failed`,
and for each call its `progress`, `extend` and at last its `answer`. It ends when its worker closes
the connection, or by itself when it is used up.
"""

from __future__ import annotations

import asyncio
import ctypes
import inspect
import json
import logging
import os
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any, BinaryIO

from quarterjack.targets import registrations
from quarterjack.targets.call import Answer, Call
from quarterjack.targets.context import Context, current_context
from quarterjack.targets.functions import call_sync
from quarterjack.targets.processes import importing
from quarterjack.targets.processes.importing import Function, Program, Reference
from quarterjack.targets.processes.leveled_lines import beginning_of, framed
from quarterjack.targets.processes.shared_state import SharedState
from quarterjack.targets.processes.surroundings import Surroundings
from quarterjack.targets.results import answer_of, error_text, traceback_text

_CHILD_SUBREAPER = 36
_MEMORY_BADNESS = "600"
"""If the machine runs out of memory, the kernel ends this process before the worker."""


def serve(connection: socket.socket, requests: BinaryIO, start: dict[str, Any]) -> None:
    registrations.is_task_process = True
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    process = _TaskProcess(connection, SharedState.open(start["state"]))
    try:
        process.prepare(_program(start["program"]))
    except importing.ImportFailed as error:
        process.send({"failed": str(error)})
        return
    process.send({"ready": os.getpid()})
    process.serve(requests)


def _program(values: dict[str, Any]) -> Program:
    references = [Reference(*each) for each in values["references"]]
    return Program(**{**values, "references": references})


class _TaskProcess:
    def __init__(self, connection: socket.socket, state: SharedState) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self._state = state
        self._is_calling = False
        self._number = 0
        self._pid = os.getpid()
        self._references: list[Reference] = []
        self._functions: dict[tuple[str, str], Function] = {}

    def prepare(self, program: Program) -> None:
        _prepare_for_linux()
        importing.import_program(program)
        self._references = list(program.references)
        for reference in program.references:
            if (function := importing.find(reference)) is not None:
                self._functions[reference.kind, reference.name] = function
        self._call_hooks("on_start")
        signal.signal(signal.SIGTERM, self._on_sigterm)
        self._surroundings = Surroundings()
        if not logging.root.handlers:
            logging.root.addHandler(_OutputHandler(self._surroundings))
            logging.root.setLevel(logging.INFO)

    def _call_hooks(self, which: str) -> None:
        for hook in importing.hooks(self._references, which):
            try:
                if inspect.iscoroutine(answer := hook()):
                    asyncio.run(answer)
            except BaseException as error:
                traceback.print_exc()
                name = getattr(hook, "__name__", hook)
                reason = f"the hook {name} failed in a task process: {error_text(error)}"
                raise importing.ImportFailed(reason) from error

    def serve(self, requests: BinaryIO) -> None:
        while line := requests.readline():
            number, deadline, request = line.split(b" ", 2)
            if not self._state.begin(int(number), None if deadline == b"-1" else int(deadline)):
                continue
            self._number = int(number)
            self._surroundings.write(beginning_of(self._number))
            answer = self._answer(*json.loads(request))
            if os.getpid() != self._pid:  # the task has forked, and this child of it came back
                os._exit(0)
            self._surroundings.restore()
            ends = self._surroundings.why_to_end()
            self.send({"answer": answer, "ends": ends})
            if ends is not None:
                break
        with suppress(importing.ImportFailed):  # its traceback is in the output
            self._call_hooks("on_stop")

    def send(self, message: dict[str, Any]) -> None:
        """From any thread of a task."""
        with self._sending, suppress(OSError):  # the worker may be gone
            # SIGTERM may have interrupted the task while it was sending: that line ends here.
            before = b"\n" if "answer" in message else b""
            self._connection.sendall(b"%b%b\n" % (before, json.dumps(message).encode()))

    def _answer(
        self, kind: str, name: str, args: list[Any], kwargs: dict[str, Any], values: list[Any]
    ) -> Answer:
        function = self._functions.get((kind, name))
        if function is None:
            return Answer(_not_found(kind, name, self._references))
        call = Call._make([*values, {}, self._write, _Control(self, self._state, self._number)])
        context = Context(call)
        token = current_context.set(context)
        try:
            self._is_calling = True
            # In a context of its own: what it sets there is not for the next call.
            result = copy_context().run(call_sync, function, context, args, kwargs)
            self._is_calling = False
            return answer_of(result, function)
        except BaseException as error:
            self._is_calling = False
            self._write(traceback_text(error).encode(), logging.ERROR)
            return Answer(error_text(error))
        finally:
            current_context.reset(token)

    def _write(self, data: bytes, level: int = 0, /) -> None:
        self._surroundings.write(framed(data, level) if level else data)

    def _on_sigterm(self, *_: object) -> None:
        """Sent some time after the cancellation, if the task has not ended because of that. One
        from elsewhere, such as to all processes of a service, must not end a task."""
        if not self._is_calling:
            sys.exit(0)
        if self._state.is_cancelled:
            self._is_calling = False
            raise asyncio.CancelledError


class _Control:
    """The executor in the worker, as a task sees it."""

    def __init__(self, process: _TaskProcess, state: SharedState, number: int) -> None:
        self._process = process
        self._state = state
        self._number = number
        """Of its call: a thread that a task leaves behind may ask later."""

    def deadline(self) -> int | None:
        return self._state.deadline

    def is_cancelled(self) -> bool:
        return self._state.is_cancelled

    def extend(self, timeout: int) -> None:
        self._process.send({"number": self._number, "extend": timeout})

    def report(self, fraction: float, text: str) -> None:
        self._process.send({"number": self._number, "progress": [fraction, text]})


class _OutputHandler(logging.Handler):
    """Log records of the program go to the output of the run, with their levels."""

    def __init__(self, surroundings: Surroundings) -> None:
        super().__init__()
        self._surroundings = surroundings
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record).encode(errors="replace") + b"\n"
            self._surroundings.write(framed(line, record.levelno))
        except Exception:
            self.handleError(record)


def _not_found(kind: str, name: str, references: list[Reference]) -> str:
    modules = [each.module for each in references if (each.kind, each.name) == (kind, name)]
    what = f"{kind} {name} is not there when {''.join(modules)} is imported again"
    return f'{what}; define it at the top of its module, not under if __name__ == "__main__"'


def _prepare_for_linux() -> None:
    """Processes that a task has left behind become children of this one, which notices them."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_MEMORY_BADNESS)
