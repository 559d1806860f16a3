"""Schedules inside a Starlette application that opens and closes something of its own around them.
Run it in this folder: `uvicorn starlette_app:app`
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from quarterjack import Context, Quarterjack

jobs = Quarterjack()
pool: list[str] = []


@jobs.every("1s", first_run="now")
async def refresh(context: Context) -> int:
    """Runs on the event loop of the application, while its pool is open."""
    print(f"refresh {context.run_id} with {len(pool)} connection", flush=True)
    return len(pool)


async def runs(_request: Request) -> JSONResponse:
    return JSONResponse(await jobs.runs_async("refresh", limit=5))


async def refresh_now(_request: Request) -> JSONResponse:
    return JSONResponse({"run": await jobs.run_now_async("refresh")})


@asynccontextmanager
async def lifespan(_app: Starlette) -> AsyncIterator[None]:
    pool.append("connection")
    async with jobs.lifespan():
        yield
    pool.clear()  # no task is running any more
    print("the pool is closed", flush=True)


app = Starlette(
    routes=[Route("/runs", runs), Route("/refresh", refresh_now, methods=["POST"])],
    lifespan=lifespan,
)
