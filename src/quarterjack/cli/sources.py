"""What the commands that run a service are given: a configuration file, or `module:app`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from quarterjack.cli.printing import print_styled
from quarterjack.cli.runtime import Runtime
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.difference import difference, field_changes
from quarterjack.declare.programs import import_app
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import Invalid, NoSchema
from quarterjack.store.address import is_postgres
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import path_of
from quarterjack.store.types import StoredSchedule
from quarterjack.targets.kinds import KINDS
from quarterjack.targets.registrations import Registry


class Program(NamedTuple):
    """What to plan and to run."""

    declaration: Declaration
    registry: Registry


def is_program(text: str) -> bool:
    """An app, not a configuration file."""
    return not text.endswith((".yaml", ".yml", ".json")) and (
        text.endswith(".py") or text.rpartition(":")[1] == ":"
    )


def read_program(text: str) -> Program:
    """`quarterjack.yaml`, `shop.jobs:app` or `jobs.py:app`."""
    if not is_program(text):
        return Program(read_declaration(read_yaml(Path(text))), Registry())
    app = import_app(text)
    app.source.name = text
    return Program(app.declaration(), app.source.registry)


@contextmanager
def problems_of(text: str) -> Iterator[None]:
    """A program that cannot be started is a failure (1), not a wrong use of the command (2)."""
    try:
        yield
    except Invalid as error:
        if not is_program(text):
            raise
        print_styled(f"error: {error}", "red", to_stderr=True)
        sys.exit(1)


def planned_changes(runtime: Runtime, declaration: Declaration, url: str) -> Iterator[str]:
    """What a start would add, change and remove; the database is only read."""
    found = difference(declaration, runtime.now(), _stored(url))
    for new in found.added:
        yield f"add {new.key}: {new.specification.recurrence.describe()}"
    for schedule, wanted in found.changed:
        fields = ", ".join(field for field, _, _ in field_changes(schedule, wanted))
        yield f"change {schedule.key}: {fields}"
    for schedule in found.removed:
        yield f"remove {schedule.key}"


def _stored(url: str) -> list[StoredSchedule]:
    """Nothing where no service was ever started."""
    if not is_postgres(url) and not path_of(url).exists():
        return []
    try:
        with closing(Reader(url, KINDS)) as reader:
            return [found.stored for found in reader.schedules(limit=1_000_000)]
    except NoSchema:
        return []
