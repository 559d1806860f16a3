"""Edits of some fields."""

from __future__ import annotations

import json

import pytest

from quarterjack.rules import read_specification
from quarterjack.rules.definition.patch import patched
from quarterjack.targets.kinds import KINDS
from quarterjack.times.instants import SECOND


@pytest.mark.parametrize(
    ("fields", "delay"), [({"retry_delay": "30s"}, 30), ({}, 86_400), ({"retry_delay": "1m"}, 60)]
)
def test_a_retry_delay_that_equals_the_default_is_kept_by_an_edit(
    fields: dict[str, str], delay: int
):
    """Found by the simulator: only what differed from the default was remembered."""
    nightly = read_specification(
        {"cron": "0 9 * * *", "task": "work"} | fields, kinds=KINDS, key="k", now=0
    )
    body = patched(json.loads(nightly.text), {"every": "1d"}, KINDS)

    assert read_specification(body, kinds=KINDS, key="k", now=0).retry.delay == delay * SECOND
