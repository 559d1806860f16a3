"""The base of every enum whose values are stored or written as JSON."""

from __future__ import annotations

from enum import StrEnum


class TextEnum(StrEnum):
    """An enum of plain strings: members compare, hash and serialize as their text."""

    # StrEnum's own hash is a Python function, and members are dictionary keys on every hot path.
    __hash__ = str.__hash__
