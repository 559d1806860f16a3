"""Tasks and schedules in one program. Run it: `python examples/plain.py`"""

import os

from quarterjack import Context, Cron, Every, Quarterjack

app = Quarterjack()


@app.schedule("heartbeat", Every("2s"), first_run="now")
async def heartbeat(context: Context) -> None:
    print(f"heartbeat {context.run_id} of {context.slot:%H:%M:%S}", flush=True)


@app.task
def cleanup(days: int) -> int:
    """Sync tasks run in processes of their own."""
    return days


app.schedule(
    "nightly-cleanup", cleanup, Cron("0 3 * * *"), timezone="Europe/Berlin", kwargs={"days": 30}
)

app.run(port=int(os.environ.get("PORT", "7415")))
