"""Enums of plain strings."""

from __future__ import annotations

import json

from quarterjack.rules import Reason, State


def test_members_are_plain_strings():
    assert json.dumps([Reason.OVERLAP, State.HELD]) == '["overlap", "held"]'
    assert {"overlap": 1}[Reason.OVERLAP] == 1
