"""A target that follows a script: the work succeeds, fails, is slow, hangs, ignores cancellation,
skips, asks for a later retry, returns invalid results or kills its worker. The script depends only
on the seed, the run and the attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from random import Random
from typing import NamedTuple

from quarterjack.rules.text_enum import TextEnum
from quarterjack.targets.call import Answer, Call
from quarterjack.times.instants import HOUR, MILLISECOND, MINUTE, SECOND


class End(TextEnum):
    """How an attempt ends, unless it is cancelled."""

    SUCCEEDS = "succeeds"
    FAILS = "fails"
    RAISES = "raises"
    FAILS_FOR_GOOD = "fails, not retryable"
    FAILS_WITH_CODE = "fails with a code, and perhaps says when to retry"
    SKIPS = "has nothing to do"
    HANGS = "hangs"
    IGNORES_CANCELLATION = "ignores cancellation"
    """It continues for a while when it is cancelled, and then succeeds."""
    RETURNS_INVALID = "returns an invalid result"
    """One that is not JSON."""
    KILLS_WORKER = "kills its worker"


class Script(NamedTuple):
    duration: int
    end: End
    output: bytes = b""
    retry_after: int | None = None
    """What an error with a code asks for."""


RELIABILITY: Mapping[str, Mapping[End, int]] = {
    "reliable": {End.SUCCEEDS: 191, End.FAILS: 4, End.HANGS: 1, End.SKIPS: 4},
    "flaky": {
        End.SUCCEEDS: 55, End.FAILS: 20, End.RAISES: 10, End.FAILS_FOR_GOOD: 3, End.HANGS: 1,
        End.FAILS_WITH_CODE: 10, End.SKIPS: 6,
    },
    "broken": {End.FAILS: 80, End.RAISES: 10, End.SUCCEEDS: 10},
    "misbehaving": {
        End.SUCCEEDS: 60, End.IGNORES_CANCELLATION: 10, End.RETURNS_INVALID: 8,
        End.KILLS_WORKER: 4, End.HANGS: 4, End.FAILS: 7, End.FAILS_WITH_CODE: 3, End.SKIPS: 3,
    },
}  # fmt: skip
"""The weights of the ends for the work of one schedule."""

_DURATIONS = {
    "quick": (5 * MILLISECOND, 50 * MILLISECOND),
    "usual": (100 * MILLISECOND, 8 * SECOND),
    "slow": (0.3, 2),
    "very slow": (2, 8),
}
"""Minimum and maximum duration; of slow work in leases."""
_SLOW, _SLOW_PROBABILITY = ("slow", "very slow"), 0.15
"""Slow work is quick in most attempts."""
_HANG = 6 * MINUTE
"""Longer than most timeouts; work without a timeout must end some time too."""
_RETRIES_AFTER = (None, 0, 90 * SECOND, 2 * HOUR)
_CANCELLATION_IGNORED_FOR = 40 * SECOND
_STOPS_WITHIN = 4 * SECOND


def script_of(seed: int, lease: int, call: Call) -> Script:
    reliability, speed = _traits(seed, call.key)
    random = Random(f"{seed}/attempt/{call.run_id}/{call.attempt}")
    ends = RELIABILITY[reliability]
    end = random.choices(list(ends), list(ends.values()))[0]
    if speed in _SLOW and random.random() > _SLOW_PROBABILITY:
        speed = "quick"
    low, high = _DURATIONS[speed]
    if speed in _SLOW:
        low, high = low * lease, high * lease
    # Few distinct durations, so that work that starts together often ends together.
    duration = int(low * (high / low) ** random.choices([0, 0.3, 0.6, 1], [12, 1, 1, 1])[0])
    if end is End.HANGS:
        duration = _HANG
    repeats = random.choice([0, 0, 1, 20_000]) if reliability == "misbehaving" else 0
    retry_after = random.choice(_RETRIES_AFTER) if end is End.FAILS_WITH_CODE else None
    return Script(duration, end, b"it works\n" * repeats, retry_after)


@lru_cache(maxsize=1000)
def _traits(seed: int, key: str) -> tuple[str, str]:
    """The reliability and the speed of a schedule's work."""
    random = Random(f"{seed}/nature/{key}")
    reliability = random.choices(list(RELIABILITY), [60, 20, 8, 12])[0]
    return reliability, random.choices(list(_DURATIONS), [80, 12, 6, 2])[0]


class ScriptedTarget(NamedTuple):
    """One node's implementation of every kind of target."""

    script: Callable[[Call], Script]
    record: Callable[[str, Call], None]
    kill: Callable[[], None]

    async def act(self, call: Call) -> Answer:
        script = self.script(call)
        self.record("started", call)
        if script.output:
            call.write(script.output)
        try:
            await asyncio.sleep(script.duration / SECOND)
        except asyncio.CancelledError:
            if script.end is not End.IGNORES_CANCELLATION:
                await asyncio.sleep(script.duration % _STOPS_WITHIN / SECOND)
                self.record("stopped", call)
                raise
            await asyncio.sleep(_CANCELLATION_IGNORED_FOR / SECOND)
        if script.end is End.KILLS_WORKER:
            self.kill()
            await asyncio.get_running_loop().create_future()
        return self._answer(script, call)

    def _answer(self, script: Script, call: Call) -> Answer:
        if script.end in (End.SUCCEEDS, End.IGNORES_CANCELLATION):
            self.record("succeeded", call)
            return Answer(result={"took": script.duration})
        if script.end is End.SKIPS:
            self.record("skipped", call)
            return Answer(skipped="nothing to do")
        if script.end is End.FAILS_WITH_CODE:
            return self._failure_with_code(script.retry_after, call)
        self.record("failed", call)
        if script.end is End.RAISES:
            raise RuntimeError("simulated error")
        if script.end is End.RETURNS_INVALID:
            return Answer(result={"nonsense": object()})
        return Answer("simulated failure", retryable=script.end is not End.FAILS_FOR_GOOD)

    def _failure_with_code(self, retry_after: int | None, call: Call) -> Answer:
        """The code says what the error asks for, so that the two can be compared."""
        code = "busy" if retry_after is None else f"busy_for_{retry_after}"
        self.record(f"failed: {code}", call)
        return Answer("simulated failure", code=code, retry_after=retry_after)

    async def close(self) -> None:
        """Nothing to close."""
