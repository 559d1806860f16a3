"""Starts the schedules with the development server."""

import atexit
import os

from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "shop"

    def ready(self) -> None:
        """Every command calls this, `migrate` too. RUN_MAIN is set in the process of `runserver`
        that serves; in production, `manage.py quarterjack` runs the schedules."""
        if os.environ.get("RUN_MAIN") == "true":
            from shop.jobs import jobs

            jobs.start()
            atexit.register(jobs.stop)
