"""The transactions that `interleaving` runs in pairs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from harness.store.interleaving_database import BEFORE, CALLER, NOW, PairDatabase, create
from harness.store.stores import new
from quarterjack import rules
from quarterjack.rules import Ending, Outcome, Retention
from quarterjack.rules.policies.retention import Horizons
from quarterjack.store.postgres.store import PostgresStore
from quarterjack.store.transactions.retention import PruneProgress
from quarterjack.store.types import DeclarationRules, Declared, Difference, NodeInfo, StoredSchedule
from quarterjack.times.instants import HOUR, SECOND

Transaction: TypeAlias = Callable[[PostgresStore, PairDatabase], Awaitable[Any]]


async def _settle(ending: Ending, store: PostgresStore, database: PairDatabase) -> Any:
    outcome = Outcome(ending, NOW, None if ending is Ending.SUCCEEDED else "exit code 1")
    return await store.settle_runs("w1", [(database.running, outcome)], rules.settle, NOW)


async def _change(
    decide: Callable[..., Any], store: PostgresStore, database: PairDatabase, **options: Any
) -> Any:
    which = database.running.schedule_id
    return await store.change_schedule(
        which, lambda facts, now: decide(facts, now, **options), NOW, CALLER
    )


async def _change_run(
    decide: Callable[..., Any], of: str, store: PostgresStore, database: PairDatabase
) -> Any:
    return await store.change_run(getattr(database, of).id, decide, NOW, CALLER)


async def _edit(store: PostgresStore, database: PairDatabase) -> Any:
    edited = new("edited", NOW, every="30m", command=["edited"]).specification
    which = database.running.schedule_id
    return await store.edit_schedule(which, lambda *_: edited, rules.edit, NOW, CALLER)


async def _run_now(store: PostgresStore, database: PairDatabase) -> Any:
    return await store.change_schedule("alpha", rules.run_now, NOW, CALLER)


async def _resume(store: PostgresStore, database: PairDatabase) -> Any:
    return await store.change_schedule("epsilon", rules.resume, NOW, CALLER)


async def _pause_all(which: Sequence[str], store: PostgresStore, database: PairDatabase) -> Any:
    pause = partial(rules.pause, by="ada")
    return await store.change_schedules(which, pause, NOW, CALLER)


async def _declare(store: PostgresStore, database: PairDatabase) -> Any:
    """Removes a schedule that runs, changes one, and adds one."""
    added = new("declared", NOW, every="1h")._replace(owner="file")
    changed = new("gamma", NOW, every="20m").specification

    def difference(stored: Sequence[StoredSchedule], declared: Declared) -> Difference:
        found = {each.schedule.key: each.schedule for each in stored}
        return Difference(
            [] if "declared" in found else [added],
            [(found["gamma"], changed)] if "gamma" in found else [],
            [each for each in found.values() if each.id == database.running.schedule_id],
        )

    by = DeclarationRules(
        create=partial(create, NOW),
        edit=rules.edit,
        delete=partial(rules.delete, though_running=True),
    )
    return await store.declare_schedules("file", [], difference, by, NOW, CALLER)


async def add(store: PostgresStore, database: PairDatabase, key: str = "added") -> Any:
    wanted = [new(key, BEFORE, every="1h", command=[key])]
    return await store.add_schedules(lambda _: (wanted, partial(create, BEFORE)), NOW, CALLER)


async def _plan(store: PostgresStore, database: PairDatabase) -> Any:
    return await store.plan_due(NOW, 10, rules.plan)


async def _claim(store: PostgresStore, database: PairDatabase) -> Any:
    return await store.claim_runs("w2", ["default"], 10, NOW + 10 * SECOND, NOW)


async def _rescue(store: PostgresStore, database: PairDatabase) -> Any:
    return await store.rescue_runs(NOW, 10, rules.settle)


async def _renew(store: PostgresStore, database: PairDatabase) -> Any:
    return await store.renew_leases("w1", [database.running], NOW + 10 * SECOND)


async def _count_days(store: PostgresStore, database: PairDatabase) -> Any:
    return await _prune(PruneProgress(stages=("update_daily_stats",)), store, database)


async def _prune(progress: PruneProgress, store: PostgresStore, database: PairDatabase) -> Any:
    everything, retention = Horizons(*[NOW] * 5), Retention(run_age=0, run_count=0)
    return await store.prune(everything, retention, progress, NOW + HOUR)


async def _register(store: PostgresStore, database: PairDatabase) -> Any:
    node = NodeInfo("node", "elsewhere", 1, True, True, "1", "2026a", "", "", NOW, NOW)
    return await store.register(node)


async def _record_zone_data(store: PostgresStore, database: PairDatabase) -> Any:
    await store.record_zone_data("2026a", NOW)
    return await store.record_zone_data("2026b", NOW)


TRANSACTIONS: dict[str, Transaction] = {
    "plan": _plan,
    "claim": _claim,
    "renew": _renew,
    "succeed": partial(_settle, Ending.SUCCEEDED),
    "fail": partial(_settle, Ending.FAILED),
    "rescue": _rescue,
    "cancel running": partial(_change_run, rules.cancel_run, "running"),
    "cancel waiting": partial(_change_run, rules.cancel_run, "waiting"),
    "retry waiting": partial(_change_run, rules.retry_run, "waiting"),
    "retry closed": partial(_change_run, rules.retry_run, "closed"),
    "pause": partial(_change, partial(rules.pause, by="ada")),
    "pause two": partial(_pause_all, ["gamma", "beta"]),
    "pause all": partial(_pause_all, ["gamma", "beta", "alpha"]),
    "resume": _resume,
    "delete": partial(_change, partial(rules.delete, though_running=True)),
    "edit": _edit,
    "run now": _run_now,
    "declare": _declare,
    "add": add,
    "count days": _count_days,
    "prune": partial(_prune, PruneProgress(stages=(), found=((1, 0), (2, 0), (3, 0), (4, 0)))),
    "register": _register,
    "zone data": _record_zone_data,
}
