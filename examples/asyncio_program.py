"""Schedules inside an asyncio program. Run it: `python examples/asyncio_program.py`"""

import asyncio

from quarterjack import Context, Quarterjack

jobs = Quarterjack()
readings: asyncio.Queue[str] = asyncio.Queue()


@jobs.every("1s", first_run="now", if_running="allow")
async def read_sensor(context: Context) -> None:
    """Async tasks run on the loop of the program, so that they can use its queues and locks."""
    await readings.put(f"reading {context.run_id}")


async def main() -> None:
    async with jobs.lifespan():
        for _ in range(2):
            print(await readings.get(), flush=True)
        print(f"added run {await jobs.run_now_async('read_sensor')}", flush=True)
        print(await readings.get(), flush=True)


asyncio.run(main())
