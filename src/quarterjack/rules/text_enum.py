"""Words: what all closed lists of words share."""

from __future__ import annotations

from enum import StrEnum


class TextEnum(StrEnum):
    """One word of a closed list: a plain string to compare, to store and to write as JSON."""

    __hash__ = str.__hash__  # an enum's own is a Python function, and tables are asked all the time
