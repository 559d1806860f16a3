"""A typed program, read by type checkers and never run. What is wrong
in it is ignored, each with the error code of mypy."""

from __future__ import annotations

from datetime import time, timedelta
from typing import Any, assert_type

from quarterjack import Context, Cron, Daily, Depends, Err, Every, Ok, Quarterjack

app = Quarterjack(check_interval=5, queues=["default", "reports"])


@app.task
def cleanup(days: int, *, deep: bool = False) -> int:
    return days


@app.task("charge", queue="reports")
async def charge(amount: int) -> Ok[str] | Err:
    return Ok("paid") if amount else Err("declined", "no funds", retry_after=5)


@app.schedule("heartbeat", Every("5m"), max_retries=3)
async def beat(count: int = 1) -> None: ...


@app.cron("0 3 * * *", timezone="Europe/Berlin")
def nightly(context: Context, session: object = Depends(object)) -> str:
    return context.run_id


@app.every(timedelta(minutes=5))
def sync(path: str = "x") -> str:
    return path


@app.daily(time(9))
def report(path: str = "x") -> str:
    return path


@app.workflow(7, nodes=["a"])
def flow(event: dict[str, Any]) -> str:
    return str(event)


app.schedule("nightly-cleanup", cleanup, Daily(time(3)), kwargs={"days": 30})
app.schedule("by-name", "charge", "0 3 * * *", args=[3])
app.schedule("mapping", "charge", {"every": "5m"}, args=[3])
app.schedule("health", "1h", prompt="Check the queue")

assert_type(cleanup(3, deep=True), int)
assert_type(sync("x"), str)
assert_type(report("x"), str)
assert_type(flow({}), str)


async def pay() -> None:
    assert_type(await charge(3), Ok[str] | Err)
    await beat(3)


cleanup("3")  # type: ignore[arg-type]
cleanup()  # type: ignore[call-arg]
sync(3)  # type: ignore[arg-type]
nightly()  # type: ignore[call-arg]
app.schedule("x", cleanup)  # type: ignore[call-overload]
app.schedule("x", cleanup, 5)  # type: ignore[call-overload]
app.schedule(5, cleanup, "5m")  # type: ignore[call-overload]
app.every(5)  # type: ignore[arg-type]
app.cron(Cron("0 3 * * *"))  # type: ignore[arg-type]
app.task(5)  # type: ignore[call-overload]
app.task("x", queue=5)  # type: ignore[call-overload]
app.pause(3)  # type: ignore[arg-type]
Quarterjack(chek_interval=3)  # type: ignore[call-arg]
Quarterjack(check_interval="3")  # type: ignore[arg-type]
