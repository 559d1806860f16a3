"""Schedules inside a FastAPI application. Run it in this folder, also with several processes:

uvicorn fastapi_app:app --workers 2
"""

import os
from typing import Any

from fastapi import FastAPI

from quarterjack import Context, Quarterjack

jobs = Quarterjack()
app = FastAPI(lifespan=jobs.lifespan)


@jobs.every("1s", first_run="now", if_running="allow")
async def refresh(context: Context) -> None:
    """Runs on the event loop of the application."""
    print(f"refresh {context.slot.isoformat()} in {os.getpid()}", flush=True)


@app.get("/runs")
async def runs() -> list[dict[str, Any]]:
    return await jobs.runs_async("refresh", limit=5)


@app.post("/refresh")
async def refresh_now() -> dict[str, str]:
    return {"run": await jobs.run_now_async("refresh")}
