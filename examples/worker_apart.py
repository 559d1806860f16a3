"""One scheduler, and workers on other machines, on PostgreSQL. Run each in a terminal:

export QUARTERJACK_DATABASE_URL=postgresql://app@db/app
quarterjack scheduler worker_apart.py:app
quarterjack worker worker_apart.py:app --queues default
quarterjack worker worker_apart.py:app --queues reports
"""

from quarterjack import Context, Every, Quarterjack

app = Quarterjack(name="shop", queues=["default", "reports"])


@app.every("1s", first_run="now")
async def heartbeat(context: Context) -> None:
    print(f"heartbeat {context.run_id}", flush=True)


@app.task("sales-report", queue="reports")
def report(region: str) -> str:
    print(f"report for {region}", flush=True)
    return f"{region}.pdf"


app.schedule("sales-europe", report, Every("1h"), kwargs={"region": "europe"}, first_run="now")
