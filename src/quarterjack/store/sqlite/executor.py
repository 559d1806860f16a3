"""Executes operations on the one connection that writes, in a thread of its own, with group commit.

All operations that were submitted while the last group was written form the next one: each in a
savepoint of its own, one commit for all, and no caller gets a result before the commit. So a busy
engine waits for the disk once for many operations, and the event loop is never blocked.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from quarterjack.clock import Clock
from quarterjack.errors import StoreUnavailable
from quarterjack.failpoint import failpoint
from quarterjack.store.specifications import Specifications
from quarterjack.store.sqlite.errors import as_store_error
from quarterjack.store.sqlite.replaced import OpenFile
from quarterjack.store.statements import Operation, QueryMany, Statements, sql

STATEMENT_SECONDS_MAX = 30
READ_SECONDS_MAX = 10
"""For all statements of a read: while it lasts, the WAL cannot be restarted."""
_PROGRESS_STEPS = 100_000
"""Virtual machine instructions between two checks of the deadline, about 10 ms."""


class Executor:
    """Executes the statements of operations on one connection; a group is one transaction."""

    def __init__(
        self, connection: apsw.Connection, path: Path, specifications: Specifications, clock: Clock
    ) -> None:
        self._connection = connection
        self._path = path
        self._file = OpenFile(connection, path)
        self._specifications = specifications
        self._clock = clock
        self._deadline = 0
        self._read_until: int | None = None
        self.statements = 0
        """How many were executed; a batch counts as one."""
        connection.set_progress_handler(self._is_past_deadline, _PROGRESS_STEPS)

    def run(self, group: Sequence[Operation]) -> None:
        """Each operation gets its result or its error; one that fails has changed nothing."""
        news = []
        try:
            self._execute("begin immediate")
            for operation in group:
                self._run_one(operation, is_alone=len(group) == 1)
                new = self._specifications.take_new()
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
            self._specifications.take_new()  # rolled back, so it must not be cached
            translated = self._translate(error)
            for operation in group:
                operation.error = operation.error or translated
            with contextlib.suppress(apsw.Error):  # the next "begin" reports it
                self._roll_back("rollback")
        else:
            self._specifications.keep(news)

    def read(self, operation: Operation) -> None:
        """One operation that only reads, in one snapshot."""
        self._read_until = self._clock.monotonic() + READ_SECONDS_MAX * 1_000_000
        try:
            self._execute("begin")
            operation.result = self._execute_all(operation.begin())
            self._refuse_if_replaced()
        except Exception as error:
            operation.error = self._translate(error)
        self._specifications.keep([self._specifications.take_new()])
        self._read_until = None
        self._roll_back("rollback")

    def _run_one(self, operation: Operation, *, is_alone: bool) -> None:
        """In a savepoint, so that a failure rolls back this operation only; an operation that is
        alone needs none."""
        if is_alone:
            operation.result = self._execute_all(operation.begin())
            return
        self._execute("savepoint operation")
        try:
            operation.result = self._execute_all(operation.begin())
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # SQLite has rolled back the whole group, not just this one
            self._roll_back("rollback to operation")
            operation.error = self._translate(error)
        self._execute("release operation")

    def _execute_all(self, statements: Statements[Any]) -> Any:
        rows: list[Any] | None = None
        while True:
            try:
                query = statements.send(rows)  # type: ignore[arg-type]  # None starts it
            except StopIteration as end:
                return end.value
            self.statements += 1
            self._set_deadline()
            text = sql(query.statement, "sqlite")
            if isinstance(query, QueryMany):
                self._connection.executemany(text, query.rows)
                rows = []
            else:
                values = [_bindable(value) for value in query.values]
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
                reason = f"the read took longer than {READ_SECONDS_MAX} s"
                raise StoreUnavailable(f"database {self._path}: {reason}; read less at a time")

    def _roll_back(self, text: str) -> None:
        if self._connection.in_transaction:
            self._execute(text)

    def _is_past_deadline(self) -> bool:
        return self._clock.monotonic() > self._deadline

    def _refuse_if_replaced(self) -> None:
        """Called before a commit, which would corrupt the new file, and after it, because what is
        acknowledged must be in the file that people see."""
        if (error := self._file.error()) is not None:
            raise error

    def _translate(self, error: BaseException) -> BaseException:
        if not isinstance(error, apsw.Error):
            return error
        return self._file.error() or as_store_error(error, self._path)

    def close(self) -> None:
        self._connection.close()


def _bindable(value: Any) -> Any:
    """SQLite has no arrays: a list is bound as JSON, for `json_each`."""
    return json.dumps(value) if isinstance(value, list) else value


class InlineExecutor:
    """Runs each operation at once, in the caller's thread; for the simulator."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def run(self, operation: Operation) -> Any:
        self._executor.run([operation])
        return operation.answer()

    async def close(self) -> None:
        self._executor.close()


class GroupCommitThread:
    """Operations are submitted from any event loop, and answered there after the commit of their
    group."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._waiting: list[tuple[Operation, asyncio.Future[None]]] = []
        self._woken = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._work, name="quarterjack-store", daemon=True)
        self._thread.start()

    async def run(self, operation: Operation) -> Any:
        future = asyncio.get_running_loop().create_future()
        with self._woken:
            if self._closing:
                raise StoreUnavailable("the store is closed")
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
                self._executor.close()
                return
            self._run([operation for operation, _ in group])
            for loop, futures in _by_loop(future for _, future in group).items():
                with contextlib.suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(_resolve, futures)

    def _run(self, group: Sequence[Operation]) -> None:
        """Whatever happens, every caller gets an answer, and the thread goes on."""
        try:
            self._executor.run(group)
        except BaseException as error:
            for operation in group:
                operation.error = operation.error or error

    async def close(self) -> None:
        """Waits for the operations that were submitted before."""
        with self._woken:
            self._closing = True
            self._woken.notify()
        try:
            await asyncio.to_thread(self._thread.join)
        except RuntimeError:  # the interpreter is ending, and starts no more threads
            self._thread.join()


def _by_loop(
    futures: Iterable[asyncio.Future[None]],
) -> dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]]:
    found: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for future in futures:
        found.setdefault(future.get_loop(), []).append(future)
    return found


def _resolve(futures: Sequence[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)
