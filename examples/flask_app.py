"""Schedules inside a Flask application. Run it in this folder, for development or in production:

python flask_app.py
gunicorn --config gunicorn_conf.py --workers 2 flask_app:app
"""

import os
from typing import Any

from flask import Flask

from quarterjack import Context, Quarterjack

jobs = Quarterjack()
app = Flask(__name__)


@jobs.every("1s", first_run="now", if_running="allow")
def count_orders(context: Context) -> int:
    """Runs in a process of its own, beside the requests."""
    print(f"count_orders {context.slot.isoformat()} in {os.getpid()}", flush=True)
    return 3


@app.get("/runs")
def runs() -> list[dict[str, Any]]:
    return jobs.runs("count_orders", limit=5)


@app.post("/count")
def count() -> dict[str, str]:
    return {"run": jobs.run_now("count_orders")}


if __name__ == "__main__":
    jobs.start()
    try:
        app.run(port=int(os.environ.get("PORT", "5000")))
    finally:
        jobs.stop()
