"""Users who send requests through control at instants that the seed chooses. They do not check the
state first, so that many requests are refused."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from quarterjack.control import Control
from quarterjack.errors import Invalid, Refused, StoreError
from quarterjack.sim.definitions import (
    INVALID,
    ZONES,
    Fields,
    draw_policies,
    draw_recurrence,
    draw_target,
)
from quarterjack.sim.record import UserRequest
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

if TYPE_CHECKING:
    from quarterjack.sim.simulation import Simulation

Request = Callable[[Control], Any]

_WEIGHTS = {
    "create": 8, "edit": 20, "pause": 14, "resume": 24, "run": 12, "backfill": 6,
    "stop backfill": 1, "delete": 3, "drop": 4, "cancel": 6, "retry": 6,
}  # fmt: skip
"""`drop` deletes a schedule that is running, as a changed declaration does."""


class Users:
    """They send requests from `start` to `stop`."""

    def __init__(self, simulation: Simulation, random: Random) -> None:
        profile = simulation.profile
        self._simulation = simulation
        self._random = random
        self._interval = profile.request_interval
        self._slots_per_day = profile.slots_per_day / max(profile.schedules, 1)
        self._prompts = profile.prompts
        home, away = random.sample(ZONES, 2)
        self._zones = ["UTC", *[home] * 5, away]
        self._recent_recurrences: list[Fields] = []
        self._is_stopped = False
        self._pending_drops = 0

    def start(self) -> None:
        if self._interval:
            self._schedule_next()

    def stop(self) -> None:
        self._is_stopped = True

    def work_started(self, schedule_id: int) -> None:
        """A pending drop hits a schedule whose work has just started."""
        if self._pending_drops and not self._is_stopped:
            self._pending_drops -= 1
            drop = self.request(
                "drop", schedule_id, {}, lambda c: c.delete(schedule_id, though_running=True)
            )
            self._simulation.loop.start(drop, self._simulation.user_actor)

    async def create(self, fields: Fields) -> None:
        await self.request("create", None, {"fields": fields}, lambda c: c.create(fields))

    def draw_definition(self) -> Fields:
        """Target and policies may not fit to the recurrence; then it is refused."""
        recurrence = self._draw_recurrence(self._simulation.clock.now())
        target = draw_target(self._random, self._prompts)
        return recurrence | target | draw_policies(self._random, self._slots_per_day)

    def _draw_recurrence(self, now: int) -> Fields:
        """Mostly one that was used before, so that many schedules are due at the same instants."""
        random = self._random
        if random.random() < len(self._recent_recurrences) / 4:
            return random.choice(self._recent_recurrences)
        drawn = draw_recurrence(random, now, self._zones, self._slots_per_day)
        self._recent_recurrences = [*self._recent_recurrences[-2:], drawn]
        return drawn

    def _schedule_next(self) -> None:
        instant = self._simulation.loop.instant + int(self._random.expovariate(1 / self._interval))
        if self._random.random() < 0.5:  # close to an instant at which many slots are planned
            offset = self._random.choice([-1, 1, 5_000, 20_000, 40_000, SECOND])
            instant += HOUR // 2 - instant % (HOUR // 2) + offset
        self._simulation.loop.at(instant, self._send_next)

    def _send_next(self) -> None:
        if not self._is_stopped:
            action = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
            self._simulation.loop.start(self._send(action), self._simulation.user_actor)
            self._schedule_next()

    async def _send(self, action: str) -> None:
        random, now = self._random, self._simulation.clock.now()
        if action == "create":
            is_valid = random.random() >= 0.3
            await self.create(self.draw_definition() if is_valid else random.choice(INVALID))
        elif action in ("cancel", "retry"):
            run_id = self._random_run()
            await self.request(action, run_id, {}, lambda c: getattr(c, action)(run_id))
        elif action == "drop":
            self._pending_drops += 1
        else:
            known = self._simulation.schedule_ids
            schedule_id = random.choice(known) if known and random.random() < 0.97 else 10**6
            arguments, call = self._prepare(action, schedule_id, now)
            await self.request(action, schedule_id, arguments, call)

    def _random_run(self) -> str:
        events = self._simulation.record.work[-30:]
        return self._random.choice(events).run_id if events else "1-0"

    def _prepare(self, action: str, schedule_id: int, now: int) -> tuple[Fields, Request]:
        random = self._random
        if action == "edit":
            changes = self._draw_changes(now)
            return {"changes": changes}, lambda control: control.edit(schedule_id, changes)
        if action == "pause":
            until = now + random.randrange(1, 600) * MINUTE if random.random() < 0.3 else None
            return {"until": until}, lambda control: control.pause(schedule_id, until=until)
        if action == "backfill":
            start = now - random.randrange(30 * 24) * HOUR
            span = min(random.choice([3, 30, 300]) / self._slots_per_day, 30) * DAY
            until = min(start + int(span), now + MINUTE)
            again = random.random() < 0.2
            arguments = {"start": start, "until": until, "again": again}
            return arguments, lambda c: c.backfill(schedule_id, start, until, again=again)
        method = action.replace(" ", "_")
        return {}, lambda control: getattr(control, method)(schedule_id)

    def _draw_changes(self, now: int) -> Fields:
        random = self._random
        kinds = ["recurrence", "policies", "target", "enabled", "invalid"]
        (kind,) = random.choices(kinds, [5, 5, 1, 1, 1])
        if kind == "recurrence":
            return {"start_at": None, "end_at": None} | self._draw_recurrence(now)
        if kind == "policies":
            policies = draw_policies(random, self._slots_per_day)
            return {field: value for field, value in policies.items() if field != "preset"}
        if kind == "target":
            return draw_target(random, self._prompts)
        if kind == "enabled":
            return {"enabled": random.random() < 0.5}
        return random.choice([each for each in INVALID if len(each) > 1])

    async def request(
        self, action: str, subject: int | str | None, arguments: Fields, call: Request
    ) -> None:
        simulation = self._simulation
        at, store = simulation.loop.instant, simulation.store_for(simulation.user_actor)
        control = Control(store, by="ada", origin="simulation", owner="ada")
        try:
            await call(control)
        except (Invalid, Refused) as error:
            answer = f"refused: {error}"
        except StoreError:
            answer = "unknown"
        else:
            answer = "ok"
        request = UserRequest(at, action, subject, arguments, answer, *store.last_change)
        simulation.record.requests.append(request)
