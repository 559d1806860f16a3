"""A cache of specifications. A version never changes, so it is read from the database once.

What a transaction read or added is cached only after its commit: if it is rolled back, its version
may be assigned again. A failover to a server without the last transactions does the same, so the
cache does not outlive a connection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from itertools import islice
from typing import TypeAlias

from quarterjack.rules import Specification, Unreadable, read_specification
from quarterjack.rules.definition.target import TargetKinds
from quarterjack.rules.definition.validation import with_units
from quarterjack.store.statements import Query, Statements

Version: TypeAlias = tuple[int, int]
"""The id of a schedule, and the number of a version of its definition."""
Definition: TypeAlias = Specification | Unreadable
Parse: TypeAlias = Callable[[str, str, str | None], Definition]
"""From the stored body, the key of the schedule, and the preset of the service."""

CACHED_MAX = 50_000


class Specifications:
    """The committed specifications that were used last, and those of the current transaction."""

    def __init__(self, kinds: TargetKinds) -> None:
        self._kinds = kinds
        self._cached: dict[Version, Definition] = {}
        self._new: dict[Version, Definition] = {}
        self.parse: Parse = partial(parse, kinds)
        self._caches = True

    def add(self, version: Version, specification: Specification) -> None:
        self._new[version] = specification

    def read(self, wanted: Mapping[Version, str]) -> Statements[Mapping[Version, Definition]]:
        """The specifications of these versions, each given with the key of its schedule."""
        cached, new = self._cached, self._new
        if wanted.keys() <= cached.keys():
            return cached
        missing = [version for version in wanted if version not in cached and version not in new]
        if missing:
            rows = yield Query("specifications", (missing,))
            for schedule_id, number, body, preset in rows:
                version = schedule_id, number
                new[version] = self.parse(body, wanted[version], preset)
            for version in missing:
                if version not in new:
                    new[version] = Unreadable(LookupError("its specification is missing"))
        return {version: cached.get(version) or new[version] for version in wanted}

    def keep(self, committed: Iterable[Mapping[Version, Definition]]) -> None:
        """Cache what the operations of a committed transaction read or added."""
        if not self._caches:
            return
        for new in committed:
            self._cached.update(new)
        if (surplus := len(self._cached) - CACHED_MAX) > 0:
            for version in list(islice(self._cached, surplus)):
                del self._cached[version]

    def reset(self, *, is_pooled: bool) -> None:
        """Empty the cache for a new connection. Behind a pooler every transaction may reach another
        server, so each one reads its specifications, and only their parsing is cached."""
        self._cached.clear()
        self._caches = not is_pooled
        if is_pooled:
            self.parse = partial(_parse_cached, self._kinds)

    def take_new(self) -> Mapping[Version, Definition]:
        """What the operation that has just ended read or added."""
        new, self._new = self._new, {}
        return new


def parse(kinds: TargetKinds, body: str, key: str, preset: str | None) -> Definition:
    try:
        fields = with_units(json.loads(body))
        return read_specification(fields, kinds=kinds, key=key, now=None, preset=preset)
    except (OSError, MemoryError):
        raise  # temporary, and not caused by the specification
    except Exception as error:  # makes this one schedule invalid, with the reason
        return Unreadable(error)


_parse_cached = lru_cache(10_000)(parse)
