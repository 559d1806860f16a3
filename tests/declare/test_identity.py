"""Whose schedules a declaration owns: a written name is the whole identity; a default name counts
together with the place of the declaration. On every store."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from harness.declare.declarations import declaration_of, keys
from harness.store.stores import StoreClient, query
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import Conflict

File: TypeAlias = Callable[[str, str], Declaration]
A = "schedules:\n  a: {every: 1h, command: [x]}\n"
B = "schedules:\n  b: {every: 2h, command: [x]}\n"


@pytest.fixture
def file(tmp_path: Path) -> File:
    """A declaration in a file of this path."""

    def write(path: str, text: str) -> Declaration:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
        return read_declaration(read_yaml(tmp_path / path))

    return write


def applied(client: StoreClient, declaration: Declaration, *, take_over: bool = False) -> list[str]:
    client(apply(client.store, declaration, client.now, take_over=take_over))
    return keys(client)


def owners(client: StoreClient) -> dict[str, str]:
    rows = query(client, "select key, owner from schedules where deleted_at is null order by key")
    return {row[0]: row[1] for row in rows}


def test_two_files_without_a_name_leave_each_other_alone(client: StoreClient, file: File):
    applied(client, file("shop.yaml", A))
    applied(client, file("reports.yaml", B))

    assert applied(client, file("shop.yaml", A)) == ["a", "b"]
    assert owners(client) == {"a": "shop", "b": "reports"}


def test_a_written_name_is_the_same_declaration_in_every_place(client: StoreClient, file: File):
    applied(client, file("one/q.yaml", f"name: team\n{A}"))

    assert applied(client, file("two/other.yaml", f"name: team\n{B}")) == ["b"]


def test_the_same_default_name_in_another_place_needs_to_take_over(client: StoreClient, file: File):
    first, moved = file("one/q.yaml", A), file("two/q.yaml", B)
    applied(client, first)

    with pytest.raises(Conflict) as refusal:
        applied(client, moved)

    assert 'the declaration "q" was applied from' in str(refusal.value)
    assert f'{first.source.location}; write a "name" in one of them' in str(refusal.value)
    assert keys(client) == ["a"]
    assert applied(client, moved, take_over=True) == ["b"]
    assert applied(client, moved) == ["b"]
    with pytest.raises(Conflict, match=moved.source.location):
        applied(client, first)


def declare_as_earlier_versions_did(client: StoreClient, tmp_path: Path, text: str) -> None:
    applied(client, declaration_of(tmp_path, f"name: default\n{text}"))


def test_schedules_of_the_older_default_name_go_to_the_file_that_declares_them(
    client: StoreClient, file: File, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    logging.getLogger("quarterjack").propagate = True
    caplog.set_level("INFO", "quarterjack")
    both = A + "  old: {every: 1h, command: [x]}\n"
    declare_as_earlier_versions_did(client, tmp_path, both)
    before = query(client, "select id, version from schedules where key = 'a'")

    assert applied(client, file("other.yaml", B)) == ["a", "old", "b"], "none of its keys"
    assert applied(client, file("shop.yaml", A)) == ["a", "b"], "and what it dropped is removed"

    assert owners(client) == {"a": "shop", "b": "other"}
    assert query(client, "select id, version from schedules where key = 'a'") == before
    assert 'older default name "default" taken over declaration=shop schedules=2' in caplog.text


def test_a_file_with_a_written_name_adopts_nothing(client: StoreClient, file: File, tmp_path: Path):
    declare_as_earlier_versions_did(client, tmp_path, A)

    with pytest.raises(Conflict, match='schedule "a" belongs to the declaration "default"'):
        applied(client, file("shop.yaml", f"name: team\n{A}"))
