"""Declarations for tests: from the text of a YAML file, and from values without a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.store.node_info import register
from harness.store.stores import StoreClient
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import InvalidSpecification
from quarterjack.store.types import Difference


def declaration_of(folder: Path, text: str) -> Declaration:
    """The declaration of a file `q.yaml` in this folder."""
    path = folder / "q.yaml"
    path.write_text(text)
    return read_declaration(read_yaml(path))


def problems_of(folder: Path, text: str) -> str:
    """The message of the error that refuses this file."""
    with pytest.raises(InvalidSpecification) as refusal:
        declaration_of(folder, text)
    return str(refusal.value)


class ValuesSource(NamedTuple):
    """A source without a file; a place is the path of a value."""

    values: Mapping[str, Any]
    name: str = "values"
    location: str = "/values"
    default_name: str = "values"

    def place(self, *path: str) -> str:
        return ".".join([self.name, *path])


def declared_values(**values: Any) -> Declaration:
    return read_declaration(ValuesSource(values))


def keys(client: StoreClient) -> list[str]:
    return [found.schedule.key for found in client.reads.schedules()]


def apply_to(client: StoreClient, declaration: Declaration) -> Difference:
    return client(apply(client.store, declaration, client.now))


def start(client: StoreClient, declaration: Declaration, name: str) -> Difference:
    """As a node does."""
    register(client, name, declaration.revision)
    return apply_to(client, declaration)
