"""People: what they ask for through control, at instants that the seed has chosen. They do not look
first, so that much of it is refused; and they are told of errors as anybody is."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from quarterjack.control import Control
from quarterjack.errors import Invalid, Refused, StoreError
from quarterjack.sim.definitions import (
    NONSENSE,
    ZONES,
    Fields,
    draw_policies,
    draw_rest,
    draw_target,
    draw_when,
)
from quarterjack.sim.record import Deed
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from quarterjack.sim.world import World

_WEIGHTS = {
    "create": 8,
    "edit": 20,
    "pause": 14,
    "resume": 24,
    "run": 12,
    "backfill": 6,
    "stop backfill": 1,
    "delete": 3,
    "drop": 4,
    "cancel": 6,
    "retry": 6,
}


class People:
    """They ask until the world is healed."""

    def __init__(self, world: World, random: Random, every: int, a_day: float) -> None:
        self._world = world
        self._random = random
        self._every = every
        self._a_day = a_day
        home, away = random.sample(ZONES, 2)
        self._zones = ["UTC", *[home] * 5, away]
        self._copied: list[Fields] = []
        self._is_over = False
        self._drops = 0
        """How many schedules are still to be dropped while they run."""

    def begin(self) -> None:
        if self._every:
            self._wait()

    def end(self) -> None:
        self._is_over = True

    def work_began(self, schedule_id: int) -> None:
        """What a declaration drops is often running at that moment: so one that is to be dropped
        is one whose work has just begun."""
        if self._drops and not self._is_over:
            self._drops -= 1
            drop = self._ask(
                "drop", schedule_id, {}, lambda c: c.delete(schedule_id, though_running=True)
            )
            self._world.loop.start(drop, self._world.people)

    async def create(self, fields: Fields) -> None:
        await self._ask("create", None, {"fields": fields}, lambda control: control.create(fields))

    def draw(self) -> Fields:
        return self._when(self._world.clock.now()) | draw_rest(
            self._random, self._a_day, self._world.profile.prompts
        )

    def _when(self, now: int) -> Fields:
        """Most words about when are copied, as people do; so much is due at the same instants."""
        random = self._random
        if random.random() < len(self._copied) / 4:
            return random.choice(self._copied)
        when = draw_when(random, now, self._zones, a_day=self._a_day)
        self._copied = [*self._copied[-2:], when]
        return when

    def _wait(self) -> None:
        instant = self._world.loop.instant + int(self._random.expovariate(1 / self._every))
        if self._random.random() < 0.5:  # while many slots are about to be planned
            beside = self._random.choice([-1, 1, 5_000, 20_000, 40_000, SECOND])
            instant += HOUR // 2 - instant % (HOUR // 2) + beside
        self._world.loop.at(instant, self._come)

    def _come(self) -> None:
        if not self._is_over:
            verb = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            self._world.loop.start(self._deed(verb), self._world.people)
            self._wait()

    async def _deed(self, verb: str) -> None:
        random, now = self._random, self._world.clock.now()
        if verb == "create":
            await self.create(random.choice(NONSENSE) if random.random() < 0.3 else self.draw())
            return
        if verb in ("cancel", "retry"):
            run_id = self._some_run()
            await self._ask(verb, run_id, {}, lambda control: getattr(control, verb)(run_id))
            return
        if verb == "drop":
            self._drops += 1
            return
        known = self._world.schedule_ids
        which = random.choice(known) if known and random.random() < 0.97 else 10**6
        words, asking = self._asking(verb, which, now)
        await self._ask(verb, which, words, asking)

    def _some_run(self) -> str:
        lines = self._world.record.ledger[-30:]
        return self._random.choice(lines).run_id if lines else "1-0"

    def _asking(self, verb: str, which: int, now: int) -> tuple[Fields, Callable[[Control], Any]]:
        random = self._random
        if verb == "edit":
            changes = self._changes(now)
            return {"changes": changes}, lambda control: control.edit(which, changes)
        if verb == "pause":
            until = now + random.randrange(1, 600) * MINUTE if random.random() < 0.3 else None
            return {"until": until}, lambda control: control.pause(which, until=until)
        if verb == "backfill":
            start = now - random.randrange(30 * 24) * HOUR
            span = min(random.choice([3, 30, 300]) / self._a_day, 30) * DAY
            until = min(start + int(span), now + MINUTE)
            again = random.random() < 0.2
            words = {"start": start, "until": until, "again": again}
            return words, lambda control: control.backfill(which, start, until, again=again)
        return {}, lambda control: getattr(control, verb.replace(" ", "_"))(which)

    def _changes(self, now: int) -> Fields:
        """Other slots, another target, or other policies; or nonsense."""
        random = self._random
        kind = random.choices(
            ["when", "policies", "target", "enabled", "nonsense"], [5, 5, 1, 1, 1]
        )
        if kind == ["when"]:
            return {"start_at": None, "end_at": None} | self._when(now)
        if kind == ["policies"]:
            policies = draw_policies(random, self._a_day)
            return {field: value for field, value in policies.items() if field != "preset"}
        if kind == ["target"]:
            return draw_target(random, self._world.profile.prompts)
        if kind == ["enabled"]:
            return {"enabled": random.random() < 0.5}
        return random.choice([each for each in NONSENSE if len(each) > 1])

    async def _ask(
        self, verb: str, which: int | str | None, words: Fields, asking: Callable[[Control], Any]
    ) -> None:
        world = self._world
        at, store = world.loop.instant, world.store_of(world.people)
        control = Control(store, by="ada", origin="simulation", owner="ada")
        try:
            await asking(control)
        except (Invalid, Refused) as error:
            answer = f"refused: {error}"
        except StoreError:
            answer = "unknown"
        else:
            answer = "ok"
        moment, made = store.asked_for
        world.record.note(Deed(at, verb, which, words, answer, moment, made))
