"""Specifications: read once and kept, for a version never changes. What was read or added in a
transaction that is undone is not kept: its number may be given to another. The same holds for a
failover to a server that has lost the last transactions, so nothing is kept beyond a connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import TypeAlias

from quarterjack.rules import Specification, Unreadable, read_specification
from quarterjack.store.statements import Query, Statements

Version: TypeAlias = tuple[int, int]
"""A schedule's id, and which version of its definition."""

KEPT_MAX = 50_000


class Specifications:
    """Those that were read or added lately, and those of the operation that is under way."""

    def __init__(self) -> None:
        self._kept: dict[Version, Specification | Unreadable] = {}
        self._new: dict[Version, Specification | Unreadable] = {}
        self.parse: Callable[[str, str, str | None], Specification | Unreadable] = parse
        """What makes one of a body, the key of its schedule, and a preset of the service."""
        self._keeps = True

    def add(self, version: Version, specification: Specification) -> None:
        self._new[version] = specification

    def read(
        self, wanted: Mapping[Version, str]
    ) -> Statements[Mapping[Version, Specification | Unreadable]]:
        """Those of these versions, each with the key of its schedule."""
        kept, new = self._kept, self._new
        if wanted.keys() <= kept.keys():
            return kept
        missing = [version for version in wanted if version not in kept and version not in new]
        if missing:
            rows = yield Query("specifications", (missing,))
            for schedule_id, number, body, preset in rows:
                version = schedule_id, number
                new[version] = self.parse(body, wanted[version], preset)
            for version in missing:
                if version not in new:
                    new[version] = Unreadable(LookupError("its specification is gone"))
        return {version: kept.get(version) or new[version] for version in wanted}

    def keep(self, news: Iterable[Mapping[Version, Specification | Unreadable]]) -> None:
        """These were committed."""
        if not self._keeps:
            return
        for new in news:
            self._kept.update(new)
        if (surplus := len(self._kept) - KEPT_MAX) > 0:
            for version in list(islice(self._kept, surplus)):
                del self._kept[version]

    def prune(self, *, is_pooled: bool) -> None:
        """There is a new connection. Behind a pooler each transaction may be on another server:
        then every transaction reads its specifications, and only what a body means is kept."""
        self._kept.clear()
        self._keeps = not is_pooled
        if is_pooled and self.parse is parse:
            self.parse = _parse_once

    def taken(self) -> Mapping[Version, Specification | Unreadable]:
        """What the operation that has just ended read or added."""
        new, self._new = self._new, {}
        return new


def parse(body: str, key: str, preset: str | None) -> Specification | Unreadable:
    try:
        return read_specification(json.loads(body), key=key, now=None, preset=preset)
    except (OSError, MemoryError):
        raise  # that is no fault of the specification, and will pass
    except Exception as error:  # whatever it is, its schedule will tell
        return Unreadable(error)


_parse_once = lru_cache(10_000)(parse)
