"""Quarterjack inside another program: start and stop in a thread, lifespan, and requests."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import wait_for
from quarterjack import Quarterjack
from quarterjack.errors import Conflict, InvalidSpecification, StoreError
from quarterjack.loops import run_on

SECONDS = 30
"""Far more than anything here takes; what ends because of it has failed."""


def new_app(folder: Path, **settings: Any) -> Quarterjack:
    return Quarterjack(f"sqlite:///{folder}/q.db", name="test", **settings)


@contextmanager
def started(app: Quarterjack) -> Iterator[None]:
    app.start()
    try:
        yield
    finally:
        app.stop()


def states(app: Quarterjack, key: str) -> list[str]:
    return [run["state"] for run in app.runs(key)]


def wait_for_end(app: Quarterjack, key: str) -> dict[str, Any]:
    """The newest run of this schedule, once it has ended."""
    wait_for(lambda: app.runs(key) and app.runs(key)[0]["finished_at"], SECONDS, f"{key} ended")
    return app.runs(key)[0]


def run_program(folder: Path, text: str) -> str:
    """What a program prints; it must succeed."""
    (folder / "program.py").write_text(text)
    command = [sys.executable, "-W", "error", "program.py"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def process_id() -> int:
    return os.getpid()


@pytest.mark.mission("V1")
def test_start_and_stop_run_the_schedules_and_may_be_repeated(tmp_path: Path):
    app = new_app(tmp_path)
    app.schedule("work", app.task(process_id), "1h", first_run="now")

    for _ in range(2):
        with started(app):
            assert wait_for_end(app, "work")["result"] != os.getpid()
        app.stop()

    assert states(app, "work") == ["succeeded"], "the second start found the slot decided"


def test_a_second_start_is_an_error_and_the_first_goes_on(tmp_path: Path):
    app = new_app(tmp_path)

    @app.every("1h", first_run="now")
    async def work() -> None: ...

    with started(app):
        with pytest.raises(Conflict, match=r"it was started already; stop\(\) it first"):
            app.start()
        assert wait_for_end(app, "work")["state"] == "succeeded"


def test_the_declaration_is_complete_once_it_has_started(tmp_path: Path):
    app = new_app(tmp_path)
    earlier = app.task("named")
    with started(app):
        for declare in (
            lambda: app.task(state_of_host),
            lambda: app.schedule("key", "task", "1h"),
            lambda: app.every("1h"),
            lambda: app.workflow(1)(state_of_host),
            lambda: app.prompt_handler(state_of_host),
            lambda: app.on_worker_start(state_of_host),
            lambda: app.on_worker_stop(state_of_host),
            lambda: earlier(state_of_host),
        ):
            with pytest.raises(Conflict, match=r"handlers and hooks before start\(\)"):
                declare()
    app.task(state_of_host)


def test_stop_waits_for_running_work(tmp_path: Path):
    app = new_app(tmp_path)
    running, release = threading.Event(), threading.Event()

    @app.every("1h", first_run="now")
    async def work() -> str:
        running.set()
        assert await asyncio.to_thread(release.wait, SECONDS)
        return "finished"

    with ThreadPoolExecutor(2) as threads:
        app.start()
        assert running.wait(SECONDS)
        stops = [threads.submit(app.stop) for _ in range(2)]
        wait_for(lambda: stops[0].running() and stops[1].running(), SECONDS, "both stops")
        assert states(app, "work") == ["running"]
        release.set()
        for stop in stops:
            stop.result(SECONDS)

    assert app.runs("work")[0]["result"] == "finished"


def test_a_stop_during_a_start_waits_for_it(tmp_path: Path):
    app = new_app(tmp_path)
    starting, release = threading.Event(), threading.Event()

    @app.on_worker_start
    def slow() -> None:
        starting.set()
        assert release.wait(SECONDS)

    with ThreadPoolExecutor(2) as threads:
        start = threads.submit(app.start)
        assert starting.wait(SECONDS)
        stop = threads.submit(app.stop)
        wait_for(stop.running, SECONDS, "the stop waits")
        assert not start.done()
        release.set()
        start.result(SECONDS)
        stop.result(SECONDS)

    assert not [each for each in threading.enumerate() if each.name == "quarterjack"]
    with started(app):
        pass


def test_stop_within_a_task_is_refused(tmp_path: Path):
    app = new_app(tmp_path)

    @app.every("1h", first_run="now")
    async def work() -> None:
        app.stop()

    with started(app):
        assert (
            "stop() waits for running work, and a task calls it"
            in wait_for_end(app, "work")["error"]
        )


def test_a_failing_start_raises_every_problem(tmp_path: Path):
    app = new_app(tmp_path)
    app.schedule("one", "missing", "1h")
    app.schedule("two", "missing", "25 o'clock")

    for _ in range(2):
        with pytest.raises(InvalidSpecification) as caught:
            app.start()
        assert 'schedule "one"' in str(caught.value)
        assert 'schedule "two"' in str(caught.value)

    assert not (tmp_path / "q.db").exists()


def test_a_start_on_an_unusable_store_fails_and_can_be_repeated(tmp_path: Path):
    app = new_app(tmp_path)
    database = tmp_path / "q.db"
    database.write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError, match=r"q\.db"):
        app.start()
    database.unlink()

    with started(app):
        assert app.runs() == []


def test_an_error_of_a_start_hook_is_the_error_of_the_start(tmp_path: Path):
    app, errors = new_app(tmp_path), [OSError("no connection")]

    @app.on_worker_start
    async def connect() -> None:
        if errors:
            raise errors.pop()

    with pytest.raises(OSError, match="no connection"):
        app.start()
    with started(app):
        pass


def state_of_host() -> tuple[object, ...]:
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)]
    loggers = [logging.getLogger(name) for name in ("", "quarterjack", "asyncio")]
    logs = [(tuple(each.handlers), each.level, each.propagate) for each in loggers]
    collector = (gc.get_freeze_count(), gc.isenabled(), gc.get_threshold())
    policy = asyncio.get_event_loop_policy()
    loop = getattr(policy, "_local", None)
    return (
        handlers, logs, collector, list(warnings.filters), sys.excepthook, threading.excepthook,
        policy, getattr(loop, "_loop", None),
    )  # fmt: skip


@pytest.mark.mission("V1")
def test_start_and_stop_change_nothing_of_the_host(tmp_path: Path):
    app = new_app(tmp_path)

    @app.every("1h", first_run="now")
    async def work() -> None: ...

    before = state_of_host()
    with started(app):
        wait_for_end(app, "work")
        app.run_now("work")
        during = state_of_host()

    assert during == before
    assert state_of_host() == before


def test_lifespan_runs_async_work_and_hooks_on_the_loop_of_the_host(tmp_path: Path):
    app, threads = new_app(tmp_path), list[int]()

    async def note() -> None:
        threads.append(threading.get_ident())

    app.on_worker_start(note)
    app.on_worker_stop(note)
    app.every("1h", first_run="now")(note)

    async def main() -> asyncio.AbstractEventLoop | None:
        async with app.lifespan():
            await asyncio.to_thread(wait_for_end, app, "note")
        return app.source.registry.loop

    assert asyncio.run(main()) is None
    assert threads == [threading.get_ident()] * 3


def test_without_lifespan_async_work_runs_on_the_loop_of_the_worker(tmp_path: Path):
    app = new_app(tmp_path)

    @app.every("1h", first_run="now")
    async def work() -> str:
        return threading.current_thread().name

    with started(app):
        assert wait_for_end(app, "work")["result"] == "quarterjack"


def test_the_end_of_lifespan_waits_for_tasks_on_the_loop_of_the_host(tmp_path: Path):
    app, ended = new_app(tmp_path, grace="1ms"), list[str]()
    running = threading.Event()

    @app.every("1h", first_run="now")
    async def work() -> None:
        running.set()
        try:
            await asyncio.sleep(SECONDS)
        finally:
            await asyncio.sleep(0.1)
            ended.append("cleaned up")

    async def main() -> list[str]:
        async with app.lifespan():
            assert await asyncio.to_thread(running.wait, SECONDS)
        return list(ended)

    assert asyncio.run(main()) == ["cleaned up"]
    assert states(app, "work") == ["queued"], "handed back"


def test_a_cancellation_of_work_on_another_loop_waits_for_its_end():
    other, ended = asyncio.new_event_loop(), list[str]()
    thread = threading.Thread(target=other.run_forever)
    thread.start()
    running = threading.Event()

    async def work() -> None:
        running.set()
        try:
            await asyncio.sleep(SECONDS)
        finally:
            await asyncio.sleep(0.05)
            ended.append("work")

    async def main() -> None:
        task = asyncio.create_task(run_on(other, work()))
        await asyncio.to_thread(running.wait, SECONDS)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        ended.append("waiting")

    asyncio.run(main())
    other.call_soon_threadsafe(other.stop)
    thread.join(SECONDS)
    other.close()

    assert ended == ["work", "waiting"]


def test_work_on_a_closed_loop_fails():
    closed = asyncio.new_event_loop()
    closed.close()

    async def work() -> None: ...

    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(run_on(closed, work()))


def run_target_now() -> str:
    """In a task process."""
    return Quarterjack(name="test").run_now("target")


@pytest.mark.mission("V1")
def test_requests_from_the_program_a_running_loop_and_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    app = new_app(tmp_path)
    monkeypatch.setenv("QUARTERJACK_DATABASE_URL", f"sqlite:///{tmp_path}/q.db")

    @app.every("1h", if_running="allow")
    async def target() -> None: ...

    @app.every("1h", first_run="now")
    async def in_async_task() -> str:
        return await app.run_now_async("target") + app.run_now("target")

    app.schedule("in_sync_task", app.task(run_target_now), "1h", first_run="now")

    async def in_a_loop() -> None:
        await app.pause_async("target", reason="maintenance")
        app.resume("target")
        app.pause("target")
        await app.resume_async("target")
        shown = await app.runs_async("target")
        assert [run["id"] for run in shown] == [run["id"] for run in app.runs("target")]

    with started(app):
        assert wait_for_end(app, "in_async_task")["state"] == "succeeded"
        assert wait_for_end(app, "in_sync_task")["state"] == "succeeded"
        asyncio.run(in_a_loop())
        assert app.recover() == 0
        made = [app.runs(key)[0]["result"] for key in ("in_sync_task", "in_async_task")]
        assert sorted(run["id"] for run in app.runs("target")) == sorted(
            [made[0], made[1][:3], made[1][3:]]
        )
        assert len(app.runs(limit=2)) == 2


FORKED = """
import os
from quarterjack import Quarterjack
from quarterjack.errors import Conflict
app = Quarterjack("sqlite:///q.db")
app.start()
if os.fork() == 0:
    for request in (app.start, app.stop, app.runs, app.recover, lambda: app.run_now("key")):
        try:
            request()
        except Conflict as error:
            print(error, flush=True)
    os._exit(0)
os.wait()
app.stop()
if os.fork() == 0:
    app.start(); app.stop()
    print("started in the child", flush=True)
    os._exit(0)
os.wait()
"""


def test_a_process_that_forked_after_the_start_is_refused_with_advice(tmp_path: Path):
    *refused, last = run_program(tmp_path, FORKED).splitlines()

    assert len(refused) == 5
    assert set(refused) == {
        "this process was forked after start(); start() in each worker process instead, such as in "
        "gunicorn's post_worker_init hook or in the lifespan of the application"
    }
    assert last == "started in the child"


ENDING = """
import asyncio, atexit, signal, threading, time
from quarterjack import Quarterjack
app = Quarterjack("sqlite:///q.db", name="ending")
hook = threading.Event()
@app.on_worker_start
def interrupt():
    if not hook.is_set():
        hook.set()
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.2)
try:
    app.start()
except KeyboardInterrupt:
    print("interrupted", "quarterjack" in [each.name for each in threading.enumerate()])
running = threading.Event()
@app.every("1h", first_run="now")
async def work():
    running.set()
    await asyncio.sleep(0.2)
    print("worked", flush=True)
app.start()
atexit.register(app.stop)
running.wait(30)
"""


def test_an_interrupted_start_is_stopped_and_atexit_can_stop_a_program(tmp_path: Path):
    assert run_program(tmp_path, ENDING) == "interrupted False\nworked\n"


def test_run_is_refused_where_it_cannot_handle_signals(tmp_path: Path):
    app = new_app(tmp_path)

    async def in_a_loop() -> None:
        app.run(port=0)

    with pytest.raises(SystemExit, match="cannot be called while an event loop is running"):
        asyncio.run(in_a_loop())
    with ThreadPoolExecutor(1) as threads:
        refusal = threads.submit(app.run, port=0).exception()
    assert "only the main thread" in str(refusal)
    with started(app), pytest.raises(SystemExit, match="it was started already"):
        app.run(port=0)


@pytest.mark.parametrize(
    ("environment", "written", "used"),
    [
        ("sqlite:///deployed.db", "sqlite:///written.db", "deployed.db"),
        (None, "sqlite:///written.db", "written.db"),
        (None, None, "quarterjack.db"),
    ],
)
def test_the_environment_of_a_deployment_wins_over_the_program(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: str | None,
    written: str | None,
    used: str,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("QUARTERJACK_DATABASE_URL", raising=False)
    if environment is not None:
        monkeypatch.setenv("QUARTERJACK_DATABASE_URL", environment)

    with started(Quarterjack(written, name="test")):
        assert [each.name for each in tmp_path.glob("*.db")] == [used]


def test_a_command_that_imports_a_program_is_what_runs_it(tmp_path: Path):
    text = "from quarterjack import Quarterjack\napp = Quarterjack(name='x')\n"
    (tmp_path / "program.py").write_text(text + "app.start(); app.stop(); app.run(port=0)\n")
    done = subprocess.run(
        [sys.executable, "-m", "quarterjack", "check", "program.py:app"],
        cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip

    assert done.stdout == "program.py:app is valid: 0 schedules, 0 tasks\n  no changes\n"
    assert not list(tmp_path.glob("*.db"))
