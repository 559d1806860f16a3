"""What the commands that run a service are given: a configuration file, or `module:app`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from quarterjack.cli.printing import print_styled
from quarterjack.declare.apply import able_workers, node_with_later, refuse_other_place
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.difference import difference, field_changes
from quarterjack.declare.programs import import_app
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import Invalid, NoSchema
from quarterjack.store.address import is_postgres
from quarterjack.store.reader import Reader
from quarterjack.store.sqlite.file import path_of
from quarterjack.store.types import Declared, NodeInfo, StoredSchedule
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


def planned_changes(program: Program, url: str) -> Iterator[str]:
    """What a start would add, change and remove; the database is only read."""
    declaration = program.declaration
    stored, declared, adopted, live = _stored(url, declaration)
    refuse_other_place(declaration, declared)
    if (later := node_with_later(declaration, declared, live)) is not None:
        yield f"none until node {later.name} ends, which runs a later revision"
        return
    able = [*able_workers(live, declaration.revision), program.registry.capabilities]
    found = difference(declaration, stored, able)
    if adopted:
        yield f'take over {adopted} schedules of the older default name "default"'
    for new in found.added:
        yield f"add {new.key}: {new.specification.recurrence.describe()}"
    for schedule, wanted in found.changed:
        fields = ", ".join(field for field, _, _ in field_changes(schedule, wanted))
        yield f"change {schedule.key}: {fields}"
    for schedule in found.removed:
        yield f"remove {schedule.key}"


class _Stored(NamedTuple):
    """What a declaration is compared with."""

    schedules: Sequence[StoredSchedule] = ()
    declared: Declared = Declared(None, None, ())
    adopted: int = 0
    """How many of the schedules belong to the older default name."""
    live: Sequence[NodeInfo] = ()


def _stored(url: str, declaration: Declaration) -> _Stored:
    """Nothing where no service was ever started."""
    if not is_postgres(url) and not path_of(url).exists():
        return _Stored()
    has_default_name = declaration.place is not None
    keys = list(declaration.specifications)
    try:
        with closing(Reader(url, KINDS)) as reader:
            found = reader.declared(declaration.name, keys, has_default_name=has_default_name)
            return _Stored(*found, reader.nodes())
    except NoSchema:
        return _Stored()
