"""`python manage.py quarterjack`: run the schedules in a process of their own."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from shop.jobs import jobs


class Command(BaseCommand):
    help = "Run the schedules until SIGINT or SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=7415)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        jobs.run(port=options["port"])
