"""The parsers with hostile strings; `make fuzz` is the long form."""

from __future__ import annotations

import functools
import time

import pytest

from harness.times import fuzz
from quarterjack.times import durations


@pytest.mark.threat("T30")
@pytest.mark.parametrize("seed", [101, 102])
def test_hostile_strings_are_parsed_or_refused_quickly(seed: int):
    tally, longest = fuzz.fuzz(6_000, seed)

    assert tally["accepted"] > 250
    assert tally["refused"] > 3_000
    assert longest <= fuzz.CPU_SECONDS_MAX


def test_the_fuzzer_notices_a_parser_that_is_slow_only_without_caches(
    monkeypatch: pytest.MonkeyPatch,
):
    @functools.cache
    def slow(text: str) -> None:
        until = time.process_time() + 2 * fuzz.CPU_SECONDS_MAX
        while time.process_time() < until:
            pass

    monkeypatch.setattr(durations, "slow", slow, raising=False)
    monkeypatch.setitem(fuzz.READERS, "parse", slow)

    with pytest.raises(AssertionError, match="parse took"):
        fuzz.fuzz(100, 1)


def test_the_fuzzer_notices_another_exception(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(fuzz.READERS, "parse", lambda text: "".index(text + "x"))

    with pytest.raises(AssertionError, match="parse raised ValueError"):
        fuzz.fuzz(100, 1)
