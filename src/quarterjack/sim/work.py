"""Work that follows a script: it succeeds, fails, is slow, hangs, is deaf, talks nonsense, or takes
its worker with it. Which of these is told by the seed, the run and the attempt, and by nothing
else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import lru_cache
from random import Random
from typing import NamedTuple

from quarterjack.rules.text_enum import TextEnum
from quarterjack.targets.call import Answer, Call
from quarterjack.times.instants import MILLISECOND, MINUTE, SECOND


class End(TextEnum):
    """How a piece of work means to end."""

    SUCCEEDS = "succeeds"
    FAILS = "fails"
    RAISES = "raises"
    GIVES_UP = "gives up"
    """It fails, and says that trying again is of no use."""
    HANGS = "hangs"
    IS_DEAF = "is deaf"
    """Told to stop, it goes on for long, and then says that it succeeded."""
    BABBLES = "babbles"
    """It answers what no store can keep."""
    KILLS = "kills"
    """Its worker dies of it."""


class Script(NamedTuple):
    takes: int
    end: End
    says: bytes = b""


TEMPERS: Mapping[str, Mapping[End, int]] = {
    "steady": {End.SUCCEEDS: 195, End.FAILS: 4, End.HANGS: 1},
    "moody": {End.SUCCEEDS: 55, End.FAILS: 30, End.RAISES: 10, End.GIVES_UP: 3, End.HANGS: 1},
    "sick": {End.FAILS: 80, End.RAISES: 10, End.SUCCEEDS: 10},
    "odd": {
        End.SUCCEEDS: 60, End.IS_DEAF: 10, End.BABBLES: 8, End.KILLS: 4, End.HANGS: 4, End.FAILS: 10
    },
}  # fmt: skip
"""How the work of a schedule tends to end."""

_PACES = {
    "quick": (5 * MILLISECOND, 50 * MILLISECOND),
    "usual": (100 * MILLISECOND, 8 * SECOND),
    "slow": (0.3, 2),
    "endless": (2, 8),
}
"""From how long to how long work takes; for those that are long, in leases."""
_LONG, _IS_LONG = ("slow", "endless"), 0.15
"""They are so about this often: mostly there is little to do for them, either."""
_HANGS_FOR = 6 * MINUTE
"""Longer than most timeouts; those who have none get an end at last."""
_DEAF_FOR = 40 * SECOND
_STOPS_WITHIN = 4.0


def script_of(seed: int, lease: int, call: Call) -> Script:
    """What this attempt will do."""
    temper, pace = _nature(seed, call.key)
    chance = Random(f"{seed}/attempt/{call.run_id}/{call.attempt}")
    ends = TEMPERS[temper]
    end = chance.choices(list(ends), list(ends.values()))[0]
    if pace in _LONG and chance.random() > _IS_LONG:
        pace = "quick"
    low, high = _PACES[pace]
    if pace in _LONG:
        low, high = low * lease, high * lease
    # In a few steps: what begins together often ends together, as it does in a herd.
    takes = int(low * (high / low) ** chance.choices([0, 0.3, 0.6, 1], [12, 1, 1, 1])[0])
    if end is End.HANGS:
        takes = _HANGS_FOR
    says = b"it works\n" * chance.choice([0, 0, 1, 20_000]) if temper == "odd" else b""
    return Script(takes, end, says)


@lru_cache(maxsize=1000)
def _nature(seed: int, key: str) -> tuple[str, str]:
    """How the work of a schedule tends to end, and how long it takes."""
    nature = Random(f"{seed}/nature/{key}")
    temper = nature.choices(list(TEMPERS), [60, 20, 8, 12])[0]
    return temper, nature.choices(list(_PACES), [80, 12, 6, 2])[0]


class ScriptedTarget:
    """One node's way to act, for every kind of target."""

    def __init__(
        self,
        script: Callable[[Call], Script],
        note: Callable[[str, Call], None],
        kill: Callable[[], None],
    ) -> None:
        self._script = script
        self._note = note
        self._kill = kill

    async def act(self, call: Call) -> Answer:
        script = self._script(call)
        self._note("started", call)
        if script.says:
            call.write(script.says)
        try:
            await _lasts(script.takes)
        except asyncio.CancelledError:
            if script.end is not End.IS_DEAF:
                await _lasts(int(script.takes % (_STOPS_WITHIN * SECOND)))
                self._note("stopped", call)
                raise
            await _lasts(_DEAF_FOR)
        if script.end is End.KILLS:
            self._kill()
            await _lasts(None)
        return self._answer(script, call)

    def _answer(self, script: Script, call: Call) -> Answer:
        if script.end in (End.SUCCEEDS, End.IS_DEAF):
            self._note("succeeded", call)
            return Answer(result={"took": script.takes})
        self._note("failed", call)
        if script.end is End.RAISES:
            raise RuntimeError("the work raises")
        if script.end is End.BABBLES:
            return Answer(result={"nonsense": object()})
        return Answer("the work says no", retryable=script.end is not End.GIVES_UP)

    async def close(self) -> None:
        """It has nothing to close."""


async def _lasts(span: int | None) -> None:
    """So long, or for ever."""
    if span is None:
        await asyncio.get_running_loop().create_future()
    else:
        await asyncio.sleep(span / SECOND)
