"""Sync tasks for a pool of real processes: each does what the tasks of some user may do."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from quarterjack import Context, Depends, Err, Skip
from quarterjack.targets.registrations import Registry

F = TypeVar("F", bound=Callable[..., Any])
registry = Registry(__name__)
imported_by = os.getpid()
kept: list[Any] = [threading.Lock()]
"""What a task leaves behind in its process. A lock cannot be pickled."""


def task(function: F) -> F:
    registry.tasks[function.__name__] = function
    return function


@task
def process() -> int:
    return os.getpid()


@task
def where() -> dict[str, Any]:
    """The call itself, and how the module was imported."""
    is_main_thread = threading.current_thread() is threading.main_thread()
    return {"module": __name__, "imported_by": imported_by, "is_main_thread": is_main_thread}


@task
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    return [args, kwargs]


@task
def keep(value: Any) -> int:
    kept.append(value)
    return len(kept)


@task
def change_arguments(context: Context, days: list[int]) -> list[Any]:
    days.append(2)
    return [days, dict(context.payload)]


def connection() -> Iterator[str]:
    Context.current().log.info("open")
    yield "connection"
    Context.current().log.info("close")


@task
def depend(context: Context, given: str = Depends(connection)) -> list[str]:
    return [context.run_id, given]


@task
def raise_error(text: str) -> None:
    raise ValueError(text)


@task
def err() -> Err:
    return Err("declined", "no funds", retry=False, retry_after=2)


@task
def skip() -> Skip:
    return Skip("no new files")


@task
def leave(code: Any) -> None:
    sys.exit(code)


@task
def interrupt() -> None:
    raise KeyboardInterrupt


@task
def stop_iteration() -> None:
    raise StopIteration


@task
def generator() -> Iterator[int]:
    yield 1


@task
def huge() -> str:
    return "x" * 100_000_000


@task
def circular() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@task
def recurse() -> None:
    recurse()


# How a process ends.


@task
def exit_at_once(code: int) -> None:
    os._exit(code)


@task
def segfault() -> None:
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)  # pytest may report it, which takes long
    ctypes.string_at(0)


@task
def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@task
def exit_in_a_thread() -> None:
    threading.Thread(target=os._exit, args=(3,)).start()
    time.sleep(30)


@task
def close_descriptors() -> None:
    os.closerange(0, 256)


# What it leaves behind.


@task
def leak_memory(mebibytes: int) -> int:
    kept.append(b"x" * (mebibytes << 20))
    return os.getpid()


@task
def use_memory(mebibytes: int) -> int:
    len(b"x" * (mebibytes << 20))
    return os.getpid()


@task
def leak_threads(count: int) -> int:
    for _ in range(count):
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return os.getpid()


@task
def leak_files(count: int) -> int:
    kept.extend(os.open(os.devnull, os.O_RDONLY) for _ in range(count))
    return os.getpid()


@task
def leave_process(ends: str = "") -> list[int]:
    """Below init, in a session of its own."""
    script = "import os, time; os.setsid(); os.fork() and os._exit(0); print(os.getpid(), flush=1)"
    command = [sys.executable, "-S", "-E", "-c", f"{script}; time.sleep(60)"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    left = int(child.stdout.readline())
    print("left", left, flush=True)
    if ends:
        registry.tasks[ends]()
    return [os.getpid(), left]


@task
def leave_ended_processes(count: int) -> int:
    """As programs that become daemons do, and end."""
    script = "import os\nfor _ in range(int(os.sys.argv[1])): os.fork() or os._exit(0)"
    subprocess.run([sys.executable, "-S", "-E", "-c", script, str(count)], check=True)
    time.sleep(0.1)
    return os.getpid()


@task
def come_back_twice() -> str:
    return "parent" if os.fork() else "child"


@task
def fork_without_end(file: str) -> None:
    """One process is always new, for a signal to miss; another leaves child after child behind."""
    if not os.fork():
        while True:
            Path(file).write_text(str(os.getpid()))
            if os.fork():
                os._exit(0)
    if not os.fork():
        for _ in range(150):  # not without end, for the sake of this machine
            if not os.fork():
                os.setsid()
                break
    while True:
        time.sleep(1)


# What it changes.


@task
def change_surroundings(folder: str) -> None:
    os.chdir(folder)
    os.environ["QUARTERJACK_TRY"] = "yes"
    del os.environ["PATH"]
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
        signal.signal(each, signal.SIG_IGN)
    sys.stdout = sys.stderr = sys.stdin = None


@task
def change_folder_and_remove_it(folder: str) -> None:
    Path(folder).mkdir()
    os.chdir(folder)
    Path(folder).rmdir()


@task
def close_output(how: str) -> None:
    if how == "stream":
        sys.stdout.close()
        sys.stderr.close()
    elif how == "descriptor":
        os.close(1)
        os.close(2)
    else:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)


@task
def surroundings() -> list[Any]:
    print("standard output")
    print("standard error", file=sys.stderr)
    os.system("echo of a program")
    handlers = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)]
    environment = [os.environ.get(each) for each in ("QUARTERJACK_TRY", "PATH")]
    return [os.getpid(), str(Path.cwd()), *environment, *map(repr, handlers)]


# What it writes and reports.


@task
def talk(count: int, width: int = 10) -> None:
    """Lines through print, the log of the run, `logging`, a program and a descriptor in turn."""
    context, text = Context.current(), "x" * width
    for number in range(count):
        print("print", number, text)
        context.log.warning("log %d %s", number, text)
        logging.getLogger("shop").error("logging %d %s", number, text)
        os.write(1, f"descriptor {number} {text}\n".encode())


@task
def talk_much(mebibytes: int) -> None:
    for _ in range(mebibytes):
        sys.stdout.write("x" * (1 << 20))


@task
def talk_strangely() -> None:
    print("a surrogate: \udcff, and no end of line", end="")
    os.write(1, b"\xff\x1e\x1f\x1e30")
    Context.current().log.error("\x1e30 within \x1f")


@task
def log_in_threads(count: int) -> None:
    context = Context.current()

    def write(name: str) -> None:
        for number in range(count):
            context.log.info("%s %d", name, number)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


@task
def report(context: Context) -> None:
    context.progress(0.25, "a quarter")
    context.progress(1)


@task
def extend(context: Context, timeout: str, seconds: float) -> list[float]:
    """How much further away the deadline is, and after some time, whether it was cancelled."""
    before = context.deadline
    assert before is not None
    context.extend(timeout)
    until = time.monotonic() + 20
    while (after := context.deadline) == before and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(seconds)
    assert after is not None
    return [(after - before).total_seconds(), context.cancelled]


# How it is cancelled.


@task
def cooperate(context: Context, file: str) -> str:
    Path(file).write_text(str(os.getpid()))
    while not context.cancelled:
        time.sleep(0.005)
    print("cancelled")
    return "ignored"


@task
def work_forever(file: str) -> None:
    """In Python: it is interrupted."""
    Path(file).write_text(str(os.getpid()))
    try:
        while True:
            time.sleep(0.01)
    except asyncio.CancelledError:
        is_main = threading.current_thread() is threading.main_thread()
        print("interrupted", is_main, Context.current().cancelled)
        raise


@task
def swallow_everything(file: str) -> None:
    Path(file).write_text(str(os.getpid()))
    while True:
        try:
            time.sleep(1)
        except BaseException as error:
            print("swallowed", type(error).__name__)


@task
def wait_in_c(file: str) -> None:
    """For a lock that the same thread holds, so that no signal handler of Python is called."""
    Path(file).write_text(str(os.getpid()))
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(mutex)


# The same, on the event loop.


@task
async def echo_later(*args: Any) -> list[Any]:
    return [args, {}]


@task
async def raise_error_later(text: str) -> None:
    raise ValueError(text)


@task
async def work_forever_later(file: str) -> None:
    Path(file).write_text(str(os.getpid()))
    await asyncio.Event().wait()


@task
async def talk_much_later(mebibytes: int) -> None:
    for _ in range(mebibytes * 16):
        Context.current().log.info("x" * (1 << 16))
        await asyncio.sleep(0)
