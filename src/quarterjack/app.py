"""The Python face: tasks and schedules in code, run by this program or inside another one.

app = Quarterjack()

@app.cron("0 9 * * MON-FRI", timezone="Europe/Berlin")
async def report() -> None: ...

app.run()
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, overload

from quarterjack.declare.code import TARGET_FIELDS, CodeSource
from quarterjack.declare.functions import calling_module, calling_place, name_of
from quarterjack.hosting import STORE_TIMEOUT, Host
from quarterjack.rules.definition.input_checks import invalid
from quarterjack.targets.registrations import Workflow
from quarterjack.times import Recurrence

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from quarterjack.declare.declaration import Declaration

F = TypeVar("F", bound=Callable[..., Any])
When = Recurrence | str | Mapping[str, Any]
Task = Callable[..., Any] | str
_LEFT_OUT: Any = object()


class Quarterjack:
    """Tasks, schedules and settings of one program.

    Settings are those of the configuration file: `database`, `name`, `timezone`, `preset`,
    `defaults`, `limits`, `queues`, `workers`, `lease`, `grace`, `retention`, `declared_only`,
    `durability`. The environment variable `QUARTERJACK_DATABASE_URL` precedes `database`; without
    both it is `sqlite:///quarterjack.db`.
    """

    def __init__(
        self,
        database: str | None = None,
        *,
        name: str | None = None,
        timezone: str | None = None,
        preset: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        queues: Sequence[str] | None = None,
        workers: int | None = None,
        lease: str | None = None,
        grace: str | None = None,
        retention: Mapping[str, Any] | None = None,
        declared_only: bool | None = None,
        durability: str | None = None,
        check_interval: float | None = None,
        enabled: bool = True,
    ) -> None:
        """`check_interval`: the longest time between looks at the store, 1 to 60 seconds.
        `enabled=False` declares all schedules as paused."""
        place = calling_place(1)
        settings = {
            "database": database, "name": name, "timezone": timezone, "preset": preset,
            "defaults": defaults, "limits": limits, "queues": queues, "workers": workers,
            "lease": lease, "grace": grace, "retention": retention,
            "declared_only": declared_only, "durability": durability,
        }  # fmt: skip
        given: dict[str, Any] = {
            key: dict(each) if isinstance(each, Mapping) else each
            for key, each in settings.items()
            if each is not None
        }
        self._source = CodeSource(given, *calling_module(), place, enabled=enabled)
        with self._source.noting(place):
            if check_interval is not None:
                given["limits"] = _with_interval(dict(limits or {}), check_interval)
        self._host = Host(self)

    @overload
    def task(self, function: F, /) -> F: ...
    @overload
    def task(self, name: str | None = None, /, *, queue: str | None = None) -> Callable[[F], F]: ...
    def task(self, function: Any = None, /, *, queue: str | None = None) -> Any:
        """Register a function as a task: `@app.task`, or `@app.task("name", queue="reports")`. The
        function itself is unchanged. Schedules of the task use its queue."""
        place = calling_place(1)
        if function is not None and not isinstance(function, str):
            self._source.add_task(function, place, None, queue)
            return function

        def decorate(decorated: F) -> F:
            self._source.add_task(decorated, place, function, queue)
            return decorated

        return decorate

    @overload
    def schedule(self, key: str, task: Task, when: When, /, **fields: Any) -> None: ...
    @overload
    def schedule(self, key: str, when: When, /, **fields: Any) -> Callable[[F], F]: ...
    def schedule(self, key: str, first: Any, second: Any = _LEFT_OUT, /, **fields: Any) -> Any:
        """Declare a schedule: `app.schedule("nightly", cleanup, Cron("0 3 * * *"))`, or as a
        decorator, which registers the task as well: `@app.schedule("heartbeat", Every("30s"))`.

        `fields` are those of a schedule in the configuration file: `args`, `kwargs`, `payload`,
        `timezone`, `max_retries`, `timeout`, `if_running`, `catch_up` and so on. With `prompt`,
        `workflow_id` or `command` it has no task: `app.schedule("health", "1h", prompt="...")`.
        """
        place = calling_place(1)
        if second is not _LEFT_OUT:
            return self._source.add_schedule(key, first, second, fields, place)
        if TARGET_FIELDS & fields.keys():
            return self._source.add_schedule(key, None, first, fields, place)
        return self._source.decorator(key, first, fields, place)

    def cron(self, expression: str, /, **fields: Any) -> Callable[[F], F]:
        """Declare a task and its schedule, named after the function: `@app.cron("0 9 * * *")`."""
        return self._short_form({"cron": expression}, fields, calling_place(1))

    def every(self, interval: str | timedelta, /, **fields: Any) -> Callable[[F], F]:
        """Declare a task and its schedule, named after the function: `@app.every("5m")`."""
        return self._short_form({"every": interval}, fields, calling_place(1))

    def daily(self, at: str | time, /, **fields: Any) -> Callable[[F], F]:
        """Declare a task and its schedule, named after the function: `@app.daily("09:00")`."""
        return self._short_form({"daily": {"time": at}}, fields, calling_place(1))

    def _short_form(
        self, when: Mapping[str, Any], fields: Mapping[str, Any], place: str
    ) -> Callable[[F], F]:
        return self._source.decorator(None, when, fields, place)

    def workflow(self, number: int, *, nodes: Iterable[str] = ()) -> Callable[[F], F]:
        """Register a function for schedules with this `workflow_id`. It is called with the event,
        a mapping; with `nodes`, only these trigger nodes are accepted."""
        place = calling_place(1)
        with self._source.noting(place):
            if callable(number):
                remedy = "write it with the number of the workflow, as in @app.workflow(1)"
                raise invalid("workflow", name_of(number), "has no number", remedy)

        def decorate(function: F) -> F:
            self._source.add_workflow(number, Workflow(function, frozenset(nodes)), place)
            return function

        return decorate

    def prompt_handler(self, function: F) -> F:
        """Register the function that prompts are given to: `handler(prompt, model, opts, user)`.
        What it returns is the result of the run."""
        self._source.set_prompt_handler(function, calling_place(1))
        return function

    def on_worker_start(self, function: F) -> F:
        """Call this function, sync or async, before a worker executes its first run."""
        hooks = self._source.registry.on_start
        self._source.add_hook("on_worker_start", hooks, function, calling_place(1))
        return function

    def on_worker_stop(self, function: F) -> F:
        """Call this function, sync or async, after a worker has executed its last run."""
        hooks = self._source.registry.on_stop
        self._source.add_hook("on_worker_stop", hooks, function, calling_place(1))
        return function

    def declaration(self) -> Declaration:
        """The settings and schedules, validated; raises with every problem of the program."""
        return self._source.read()

    @property
    def source(self) -> CodeSource:
        return self._source

    def run(self, *, host: str = "127.0.0.1", port: int = 7415, workers: int | None = None) -> None:
        """Plan and run the schedules in this process until SIGINT or SIGTERM."""
        self._host.run(host, port, workers)

    def start(
        self, *, plans: bool = True, works: bool = True, timeout: float | None = STORE_TIMEOUT
    ) -> None:
        """Plan and run the schedules in a thread of this program. Returns when that is ready, or
        raises what made it impossible. A second start is an error.

        `timeout`: after how many seconds it gives up, with `StoreUnavailable`, if the database
        cannot be reached; None is never. One attempt to connect takes up to 5 seconds."""
        self._host.start(plans=plans, works=works, timeout=timeout)

    def stop(self) -> None:
        """Finish the work under way, then stop. May be repeated; a start that is under way ends,
        also one that waits for the database."""
        self._host.stop()

    def lifespan(
        self, _host_app: object = None, *, timeout: float | None = STORE_TIMEOUT
    ) -> AbstractAsyncContextManager[None]:
        """Start and stop with an ASGI application: `FastAPI(lifespan=app.lifespan)`. Async tasks
        run on the loop of the application. `timeout` as for `start`."""
        return self._host.lifespan(timeout)

    def run_now(self, key: str) -> str:
        """Add a run of a schedule that may start at once. Returns its id."""
        return self._host.ask(lambda control: control.run(key)).id

    async def run_now_async(self, key: str) -> str:
        return (await self._host.ask_async(lambda control: control.run(key))).id

    def pause(self, key: str, *, reason: str | None = None, until: datetime | None = None) -> None:
        """Pause a schedule: waiting runs are skipped, running ones continue."""
        self._host.ask(self._host.pausing(key, reason, until))

    async def pause_async(
        self, key: str, *, reason: str | None = None, until: datetime | None = None
    ) -> None:
        await self._host.ask_async(self._host.pausing(key, reason, until))

    def resume(self, key: str) -> None:
        """Resume a paused schedule."""
        self._host.ask(lambda control: control.resume(key))

    async def resume_async(self, key: str) -> None:
        await self._host.ask_async(lambda control: control.resume(key))

    def runs(self, key: str | None = None, *, limit: int = 50) -> list[dict[str, Any]]:
        """The newest runs of a schedule, or of all, as every interface shows them."""
        return self._host.runs(key, limit)

    async def runs_async(self, key: str | None = None, *, limit: int = 50) -> list[dict[str, Any]]:
        return await self._host.runs_async(key, limit)

    def recover(self) -> int:
        """Continue what a crash interrupted; every start does this. Returns how many runs are ready
        because of it; repeating it returns 0."""
        return self._host.recover()


def _with_interval(limits: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
    if isinstance(seconds, bool) or not 1 <= seconds <= 60:
        raise invalid("check_interval", seconds, "is outside 1-60", "give seconds from 1 to 60")
    if "timer_clamp_ms" in limits:
        remedy = "give one of them"
        raise invalid("check_interval", seconds, "means the same as limits.timer_clamp_ms", remedy)
    return {**limits, "timer_clamp_ms": int(seconds * 1000)}
