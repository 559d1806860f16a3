"""The one thread that owns the connection, and commits in groups.

Whatever was asked for while the last group was written forms the next one: each operation in a
savepoint of its own, one commit for all, and nobody is answered before it. So a busy engine waits
for the disk once for many operations, and nothing blocks the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import apsw

from quarterjack.errors import StoreAway
from quarterjack.failpoint import failpoint
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite.file import advised
from quarterjack.store.sqlite.replaced import OpenFile
from quarterjack.store.statements import Operation, QueryMany, Statements, sql

STATEMENT_SECONDS_MAX = 30
READ_SECONDS_MAX = 10
"""For all statements of a read: as long as it lasts, the log cannot be started anew."""
_LOOK_AT_CLOCK_EVERY = 100_000
"""Steps of SQLite's machine: about 10 ms."""


class Ticking(Protocol):
    def monotonic(self) -> int: ...


class Executor:
    """Walks the steps of operations on one connection; a group is one transaction."""

    def __init__(
        self,
        connection: apsw.Connection,
        path: Path,
        known: Specifications,
        clock: Ticking,
    ) -> None:
        self._connection = connection
        self._path = path
        self._file = OpenFile(connection, path)
        self._known = known
        self._clock = clock
        self._deadline = 0
        self._read_until: int | None = None
        self.statements = 0
        """How many were asked for; a batch counts as one."""
        connection.set_progress_handler(self._is_too_late, _LOOK_AT_CLOCK_EVERY)

    def run(self, group: Sequence[Operation]) -> None:
        """Each operation gets its result or its error; what fails has changed nothing."""
        news = []
        try:
            self._execute("begin immediate")
            for operation in group:
                self._run_one(operation, is_alone=len(group) == 1)
                new = self._known.taken()
                if operation.error is None:
                    news.append(new)
            for operation in group:
                failpoint(f"{operation.name}.committing")
            self._refuse_if_replaced()
            self._execute("commit")
            for operation in group:
                failpoint(f"{operation.name}.committed")
            self._refuse_if_replaced()
        except Exception as error:
            self._known.taken()  # it is undone, and must not be remembered
            told = self._told(error)
            for operation in group:
                operation.error = operation.error or told
            with contextlib.suppress(apsw.Error):  # the next one to begin tells
                self._undo("rollback")
        else:
            self._known.keep(news)

    def read(self, operation: Operation) -> None:
        """One operation that only looks, at one moment of the database."""
        self._read_until = self._clock.monotonic() + READ_SECONDS_MAX * 1_000_000
        try:
            self._execute("begin")
            operation.result = self._walk(operation.begin())
            self._refuse_if_replaced()
        except Exception as error:
            operation.error = self._told(error)
        self._known.keep([self._known.taken()])
        self._read_until = None
        self._undo("rollback")

    def _run_one(self, operation: Operation, *, is_alone: bool) -> None:
        """What it did is undone if it fails, without the others of its group, if there are any."""
        if is_alone:
            operation.result = self._walk(operation.begin())
            return
        self._execute("savepoint operation")
        try:
            operation.result = self._walk(operation.begin())
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # SQLite has undone the whole group, not just this one
            self._undo("rollback to operation")
            operation.error = self._told(error)
        self._execute("release operation")

    def _walk(self, steps: Statements[Any]) -> Any:
        rows: list[Any] | None = None
        while True:
            try:
                step = steps.send(rows)  # type: ignore[arg-type]  # None starts it
            except StopIteration as end:
                return end.value
            self.statements += 1
            self._set_deadline()
            text = sql(step.statement, "sqlite")
            if isinstance(step, QueryMany):
                self._connection.executemany(text, step.rows)
                rows = []
            else:
                values = [_bound(value) for value in step.values]
                rows = self._connection.execute(text, values).fetchall()

    def _execute(self, text: str) -> None:
        self._set_deadline()
        self._connection.execute(text)

    def _set_deadline(self) -> None:
        """For the next statement."""
        now = self._clock.monotonic()
        self._deadline = now + STATEMENT_SECONDS_MAX * 1_000_000
        if self._read_until is not None:
            self._deadline = min(self._deadline, self._read_until)
            if now > self._read_until:
                why = f"reading took longer than {READ_SECONDS_MAX} s; ask for less at a time"
                raise StoreAway(f"database {self._path}: {why}")

    def _undo(self, text: str) -> None:
        if self._connection.in_transaction:
            self._execute(text)

    def _is_too_late(self) -> bool:
        return self._clock.monotonic() > self._deadline

    def _refuse_if_replaced(self) -> None:
        """Before a commit, for it would damage what is there now; and after it, for what is
        acknowledged must be in the file that people see."""
        if (error := self._file.replaced()) is not None:
            raise error

    def _told(self, error: BaseException) -> BaseException:
        if not isinstance(error, apsw.Error):
            return error
        return self._file.replaced() or advised(error, self._path)

    def close(self) -> None:
        self._connection.close()


def _bound(value: Any) -> Any:
    """A list is handed over as JSON."""
    return json.dumps(value) if isinstance(value, list) else value


class Inline:
    """Every operation at once, in the caller's own thread: for the simulator."""

    def __init__(self, walker: Executor) -> None:
        self._walker = walker

    async def run(self, operation: Operation) -> Any:
        self._walker.run([operation])
        return operation.answer()

    async def close(self) -> None:
        self._walker.close()


class GroupCommitThread:
    """Operations are handed over, and answered after the commit of their group."""

    def __init__(self, walker: Executor) -> None:
        self._walker = walker
        self._waiting: list[tuple[Operation, asyncio.Future[None]]] = []
        self._woken = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="quarterjack-store", daemon=True)
        self._thread.start()

    async def run(self, operation: Operation) -> Any:
        future = asyncio.get_running_loop().create_future()
        with self._woken:
            if self._closing:
                raise StoreAway("the store is closed")
            self._waiting.append((operation, future))
            self._woken.notify()
        await future
        return operation.answer()

    def _work(self) -> None:
        while True:
            with self._woken:
                while not self._waiting and not self._closing:
                    self._woken.wait()
                group, self._waiting = self._waiting, []
            if not group:
                self._walker.close()
                return
            self._run([operation for operation, _ in group])
            futures = [future for _, future in group]
            with contextlib.suppress(RuntimeError):  # a closed loop: nobody waits any more
                futures[0].get_loop().call_soon_threadsafe(_wake, futures)

    def _run(self, group: Sequence[Operation]) -> None:
        """Whatever happens, those who wait are told, and the thread goes on."""
        try:
            self._walker.run(group)
        except BaseException as error:
            for operation in group:
                operation.error = operation.error or error

    async def close(self) -> None:
        """After what is under way."""
        with self._woken:
            self._closing = True
            self._woken.notify()
        await asyncio.to_thread(self._thread.join)


def _wake(futures: Sequence[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
