"""The small parts of the engine: loops, output, clocks, and work that misbehaves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from harness.engine.service import House
from harness.rules.world import at, specification
from harness.store.stored_world import SetClock, memory_store
from quarterjack import rules
from quarterjack.clock import SystemClock
from quarterjack.engine.clock_watch import ClockWatch
from quarterjack.engine.executor import Cause, Executor
from quarterjack.engine.loop import Loop
from quarterjack.engine.node import Node, NodeConfig
from quarterjack.engine.output import CHUNK_BYTES, HEAD_BYTES, TAIL_BYTES, Output
from quarterjack.engine.pruner import Pruner
from quarterjack.engine.worker import WorkerConfig
from quarterjack.errors import StoreAway, StoreUnusable
from quarterjack.rules import Kind, Retention, Run, Status
from quarterjack.store.types import Claim
from quarterjack.targets.task import TaskTarget, current_call
from quarterjack.times.instants import DAY, HOUR, MILLISECOND, MINUTE, SECOND


@pytest.fixture
def service() -> Iterator[House]:
    service = House()
    yield service
    service.close()


RUN = Run(1, 0, rules.Kind.SLOT, 0, 0, 0, "1", attempt=1)


class TestOutput:
    def test_it_is_given_until_it_is_safe(self):
        output = Output(RUN)
        output.write(b"one")
        first = output.unstored(1)
        output.write(b"two")
        both = output.unstored(2)

        assert [chunk.data for chunk in both] == [b"one", b"two"]
        output.stored(first)
        assert [(chunk.sequence, chunk.data) for chunk in output.unstored(3)] == [(1, b"two")]

    def test_of_a_lot_the_head_and_the_tail_are_kept(self):
        output = Output(RUN)
        for _ in range(40):
            output.write(b"x" * 65536)
        output.write(b"the end")

        chunks = output.unstored(0, at_end=True)
        again = output.unstored(0, at_end=True)
        data = b"".join(chunk.data for chunk in chunks)

        assert again == chunks
        assert all(len(chunk.data) <= CHUNK_BYTES for chunk in chunks)
        assert data.endswith(b"the end")
        left_out = 40 * 65536 + 7 - HEAD_BYTES - TAIL_BYTES
        assert f"[{left_out} bytes are left out here]".encode() in data
        assert len(data) < HEAD_BYTES + TAIL_BYTES + 100


class Statements:
    """A process that does as it is told."""

    name = "steps"

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.instants: list[int] = []
        self.loop: Loop

    async def step(self, now: int) -> int | None:
        self.instants.append(now)
        answer = self.answers.pop(0)
        if not self.answers:
            self.loop.stop()
        if isinstance(answer, Exception):
            raise answer
        return int(answer) if answer is not None else None


def looped(clock: Any, *answers: Any) -> tuple[Statements, list[str | None]]:
    class Caller:
        def now(self) -> int:
            return int(clock.now())

    problems: list[str | None] = []

    async def run() -> Statements:
        steps = Statements(*answers)
        steps.loop = Loop(steps, Caller(), 5 * SECOND)
        stepping = asyncio.ensure_future(steps.loop.run())
        for _ in range(200):
            await asyncio.sleep(0.01)
            problems.append(steps.loop.problem)
            if stepping.done():
                break
        await asyncio.wait_for(stepping, 10)
        return steps

    return asyncio.run(run()), problems


class TestLoops:
    def test_a_failing_step_is_tried_again_and_told(self, caplog: pytest.LogCaptureFixture):
        steps, problems = looped(SetClock(5), StoreAway("locked"), ZeroDivisionError("odd"), None)

        assert len(steps.instants) == 3
        assert {"locked", "odd"} <= set(problems)

    @pytest.mark.fault("F33")
    def test_a_store_that_must_not_be_used_ends_it(self):
        with pytest.raises(StoreUnusable, match="damaged"):
            looped(SetClock(5), StoreAway("locked"), StoreUnusable("damaged"), None)

    @pytest.mark.mission("E8")
    def test_without_a_wake_or_a_hint_it_looks_again_after_the_clamp(self):
        class Passing(SetClock):
            """Five seconds later whenever it is asked."""

            def now(self) -> int:
                self.instant += 5 * SECOND
                return self.instant

        steps, _ = looped(Passing(0), None, None)

        assert steps.instants == [5 * SECOND, 15 * SECOND]

    def test_a_clock_that_was_set_back_is_noticed_by_every_loop(self):
        class SetBack(SetClock):
            """An hour back when it is asked for the second time."""

            def now(self) -> int:
                shown, self.instant = self.instant, at("08:00")
                return shown

        steps, _ = looped(SetBack(at("09:00")), at("09:00") + SECOND, None)

        assert steps.instants == [at("09:00"), at("08:00")]


class TestTheClock:
    @pytest.mark.parametrize("jump", [-HOUR, HOUR])
    def test_that_jumps_makes_everybody_look(self, jump: int):
        class Clock(SetClock):
            apart = 0

            def monotonic(self) -> int:
                return self.instant - self.apart

        clock, looks = Clock(at("09:00")), []
        reconciler = ClockWatch(clock, lambda: looks.append(1))
        clock.instant += MINUTE
        asyncio.run(reconciler.step(clock.instant))
        assert looks == []

        clock.instant, clock.apart = clock.instant + jump, jump
        asyncio.run(reconciler.step(clock.instant))

        assert looks == [1]

    @pytest.mark.fault("F42")
    def test_another_edition_of_the_zones_moves_the_slots_to_come(self, service: House):
        service.add(cron="0 9 * * *", timezone="Europe/Berlin")
        service.go("08:00")
        connection = service.store._walker._connection
        connection.execute("update metadata set value = '2020a' where name = 'zone_data'")
        connection.execute(f"update schedules set wake_at = {at('20:00')}, next_slot = 5")
        service.restart()
        service.go("08:00")

        expected = at("2026-11-17T08:00:00Z")
        assert (service.schedule().next_slot, service.schedule().wake_at) == (expected, expected)
        assert service.slots() == []


class TestMisbehavingWork:
    @pytest.mark.parametrize("awful", ["surrogate", "cannot be shown", "base"])
    def test_whatever_it_raises_the_attempt_ends_and_others_go_on(self, service: House, awful: str):
        class Odd(Exception):
            def __str__(self) -> str:
                raise ZeroDivisionError

        class Base(BaseException):
            pass

        def work(call: Any) -> None:
            if call.key == "good":
                return
            raise {"surrogate": ValueError("\udcff"), "cannot be shown": Odd(), "base": Base()}[
                awful
            ]

        service.add("bad", every="1h")
        service.add("good", every="1h")
        service.work = work
        service.go("09:00")

        assert (service.states(1), service.states(2)) == (["failed"], ["succeeded"])

    def test_an_outcome_that_cannot_be_stored_is_settled_plainly_and_holds_nobody_up(
        self, service: House
    ):
        service.add("bad", every="1h")
        service.add("good", every="1h")
        connection = service.store._walker._connection
        connection.execute(
            "create trigger picky before update on runs when new.error = 'Failed: boom'"
            " begin select raise(abort, 'not this one'); end"
        )
        service.work = lambda call: None if call.key == "good" else _boom()
        with pytest.raises(Exception, match="not this one"):
            service.go("09:00")
        for _ in range(3):
            service.hint("worker")
            try:
                service.go("09:00:01")
            except Exception as error:
                assert "not this one" in str(error)

        assert service.states(2) == ["succeeded"]
        assert service.runs(1)[0].error == "its outcome could not be stored: Violation"

    def test_a_worker_that_is_full_takes_what_it_can(self):
        service = House(seats=2)
        try:
            for key in "abcde":
                service.add(key, every="1h")
            service.work = lambda call: service.sleep(MINUTE)
            service.go("09:00:30")
            assert len(service.workers["w1"].running) == 2
            service.go("09:05")
            assert {service.states(identity)[0] for identity in range(1, 6)} == {"succeeded"}
        finally:
            service.close()

    def test_long_work_keeps_its_lease(self, service: House):
        service.add(every="1h")
        service.work = lambda call: service.sleep(40 * MINUTE)
        service.go("09:50")

        assert [call.attempt for _, call in service.calls] == [1]
        assert service.states() == ["succeeded"]

    def test_a_hint_only_looks_at_the_leases(self, service: House):
        """Else two processes on one database would wake each other for ever."""
        service.add(every="1h")
        service.work = lambda call: service.sleep(10 * MINUTE)
        service.go("09:00")
        before = service.store._walker._connection.total_changes()
        for _ in range(5):
            service.ask_leases()
            service.go("09:00")

        assert service.store._walker._connection.total_changes() == before

    def test_the_next_attempt_waits_until_the_last_one_has_ended(self, service: House):
        """Another process took the run over and gave it back, while its work was still ending."""
        service.add(every="1h")
        ended: list[int] = []

        async def slow_to_end(call: Any) -> None:
            try:
                await service.sleep(10 * MINUTE)
            except asyncio.CancelledError:
                await service.sleep(30 * SECOND)
                raise
            finally:
                ended.append(call.attempt)

        service.work = slow_to_end
        service.go("09:00")
        connection = service.store._walker._connection
        connection.execute("update runs set state = 'queued', worker = null, lease_until = null")
        service.hint("worker")
        service.go("09:00:10")
        assert [call.attempt for _, call in service.calls] == [1]
        assert {attempt for _, attempt in service.workers["w1"].running} == {1, 2}
        service.go("09:30")

        assert ended == [1, 2]
        assert service.states() == ["succeeded"]

    @pytest.mark.fault("F65", "F17")
    @pytest.mark.parametrize(
        "lost", [1, 2, 0], ids=["the last", "one before the last", "a failover gives it again"]
    )
    def test_one_that_claims_its_own_lost_run_stops_the_attempt_that_was_lost(
        self, service: House, lost: int
    ):
        """Renewals do not come through, though claims do: another process finds it lost."""
        service.add(every="1h")
        stopped: list[int] = []

        async def endless(call: Any) -> None:
            try:
                await service.sleep(10 * MINUTE)
            except asyncio.CancelledError:
                stopped.append(call.attempt)
                raise

        service.work = endless
        service.go("09:00")
        del service.processes["renewer w1"]
        connection = service.store._walker._connection
        connection.execute(
            f"update runs set state = 'queued', attempt = {lost}, worker = null, lease_until = null"
        )
        service.hint("worker")
        service.go("09:00:10")

        assert stopped == [1]
        assert set(service.workers["w1"].running) == {("1-0", lost + 1)}
        service.go("09:30")
        assert service.states() == ["succeeded"]

    @pytest.mark.fault("F17")
    @pytest.mark.parametrize("meanwhile", ["claims", "settles"])
    def test_one_that_a_failover_gives_again_is_not_settled_by_the_end_of_the_lost_attempt(
        self, service: House, meanwhile: str
    ):
        """That one ends while the same number is claimed again, or its settlement is lost."""
        service.add(every="1h")
        store, ends = service.store, service.loop.create_future()
        claim_runs, settle_runs = store.claim_runs, store.settle_runs

        async def work(call: Any) -> Any:
            if len(service.calls) == 1:
                return await ends
            await service.sleep(10 * MINUTE)
            return "of the one that was given again"

        def fail_over() -> None:
            store.claim_runs, store.settle_runs = claim_runs, settle_runs
            store._walker._connection.execute(
                "update runs set state = 'queued', attempt = 0, worker = null, lease_until = null"
            )

        async def claim_while_it_ends(*values: Any) -> Any:
            fail_over()
            (lost,) = service.workers["w1"].running.values()
            ends.set_result("of the lost one")
            await lost.task
            return await claim_runs(*values)

        async def lose_the_connection(*_: Any) -> Any:
            fail_over()
            raise StoreAway("the connection was lost")

        service.work = work
        service.go("09:00")
        service.hint("worker")
        if meanwhile == "claims":
            store.claim_runs = claim_while_it_ends
            service.go("09:01")
        else:
            store.settle_runs = lose_the_connection
            ends.set_result("of the lost one")
            with pytest.raises(StoreAway):
                service.go("09:01")
            service.hint("worker")
            service.go("09:02")

        assert service.states() == ["running"]
        service.go("09:30")
        assert service.states() == ["succeeded"]
        assert service.runs()[0].result == "of the one that was given again"

    @pytest.mark.fault("F11")
    def test_an_attempt_whose_lease_another_took_is_stopped_and_writes_nothing(
        self, service: House
    ):
        service.add(every="1h")
        service.work = lambda call: service.sleep(10 * MINUTE)
        service.go("09:00")
        connection = service.store._walker._connection
        connection.execute(
            f"update runs set worker = 'other', attempt = 2, lease_until = {at('12:00')}"
        )
        service.go("09:01")

        assert service.workers["w1"].held == []
        assert (service.runs()[0].worker, service.states()) == ("other", ["running"])

    def test_what_its_own_process_works_on_is_never_lost(self, service: House):
        """The store was away for longer than the lease; nobody could renew it."""
        service.add(every="1h")
        service.work = lambda call: service.sleep(10 * MINUTE)
        service.go("09:00")
        service.clock.instant += MINUTE
        rescuer = service.processes["rescuer w1"]
        rescuer._expected = None  # type: ignore[attr-defined]
        service.run(rescuer.step(service.clock.instant))

        service.go("09:30")

        assert service.states() == ["succeeded"]
        assert service.runs()[0].losses == 0


def _boom() -> None:
    from harness.engine.service import Failed

    raise Failed("boom")


def test_old_runs_are_forgotten_batch_by_batch(service: House):
    service.add(every="1h", catch_up="skip")
    for day in range(3):
        service.go(at("09:00") + day * DAY)
    many = len(service.runs())
    service.clock.instant += 200 * DAY
    service.hint("planner")
    service.go(service.clock.instant + 2 * HOUR)

    assert many > 40
    assert len(service.runs()) < many
    assert service.schedule().status is Status.ACTIVE


class TakesAWhile(SetClock):
    """Time passes whenever it is looked at."""

    def now(self) -> int:
        self.instant += 3 * MILLISECOND
        return self.instant


class TestPruning:
    @pytest.mark.parametrize(
        ("clock", "rest"), [(SetClock(at("08:00")), 5), (TakesAWhile(at("08:00")), 2 * 3 + 9 * 3)]
    )
    def test_rests_for_longer_than_a_batch_took(self, service: House, clock: SetClock, rest: int):
        service.add(every="1m")
        service.go("12:00")
        pruner = Pruner(service.store, Retention(run_age=HOUR))
        service.store._clock = clock
        now = service.clock.instant + HOUR

        clock.instant = first = service.run(pruner.step(now))
        second = service.run(pruner.step(first))

        assert (first, second) == (now + 2 * SECOND, first + rest * MILLISECOND)

    def test_goes_on_after_the_clock_was_set_back(self, service: House):
        pruner = Pruner(service.store, Retention())
        now = service.run(pruner.step(service.run(pruner.step(at("12:00")))))

        assert service.run(pruner.step(now - DAY)) == now - DAY + 10 * MINUTE

    def test_old_runs_are_looked_at_once_and_once_a_day_all_of_them(self, service: House):
        service.add("early", every="365d")
        service.ask(1, rules.run_now)
        service.go("08:01")
        pruner = Pruner(service.store, Retention(run_age=HOUR))
        now = service.clock.instant = at("12:00")
        looks = []
        while now < at("12:00") + 25 * HOUR:
            before = pruner._sweep.old
            now = service.clock.instant = service.run(pruner.step(now))
            if pruner._sweep.old != before:
                looks.append((now - at("12:00")) // HOUR)

        assert looks == [0, 24, 24], "found, begun anew after a day, and found again"


def test_a_node_is_ready_from_when_it_runs_until_it_is_told_to_stop():
    async def lived() -> list[list[str]]:
        clock = SetClock(at("08:00"))
        store = memory_store(clock)
        node = Node(store, {}, clock, NodeConfig(WorkerConfig("w1")))
        said = [node.problems()]
        running = asyncio.create_task(node.run())
        await asyncio.sleep(0)
        said.append(node.problems())
        node.stop()
        said.append(node.problems())
        await running
        await store.close()
        return said

    assert asyncio.run(lived()) == [["it is starting"], [], ["it is stopping"]]


class TestHints:
    """The real loop, with a clock set by hand: it sleeps until a wake, or until it is hinted at."""

    def steps_after(self, by: int | None) -> int:
        """How often it stepped, if it sleeps until 09:00 and is hinted at."""

        class Sleeper:
            name = "sleeper"
            steps = 0

            async def step(self, now: int) -> int:
                self.steps += 1
                return at("09:00")

        async def lived() -> int:
            store, sleeper = memory_store(SetClock(at("08:00"))), Sleeper()
            loop = Loop(sleeper, store, 2 * HOUR)
            running = asyncio.create_task(loop.run())
            while not sleeper.steps:
                await asyncio.sleep(0)
            for _ in range(10):  # until it sleeps
                await asyncio.sleep(0)
            loop.hint(by)
            for _ in range(10):
                await asyncio.sleep(0)
            steps = sleeper.steps
            loop.stop()
            await running
            return steps

        return asyncio.run(lived())

    def test_who_would_wake_too_late_is_woken(self):
        assert self.steps_after(None) == 2
        assert self.steps_after(at("08:59")) == 2

    def test_who_wakes_in_time_sleeps_on(self):
        assert self.steps_after(at("09:00")) == 1
        assert self.steps_after(at("10:00")) == 1


class TestTimeouts:
    def lived(self, *timeouts: str) -> list[tuple[str, str]]:
        """Attempts that would never end, started one after the other; in the order in which they
        were stopped, with their timeouts."""

        async def forever() -> None:
            await asyncio.Event().wait()

        async def live() -> list[tuple[str, str]]:
            ended: list[tuple[str, str]] = []
            executor = Executor(
                {"task": TaskTarget({"work": forever})},
                SystemClock(),
                SystemClock().now,
                lambda attempting, outcome: ended.append(
                    (attempting.claim.key, str(outcome.ending))
                ),
                lambda: None,
            )
            for number, timeout in enumerate(timeouts, 1):
                said = specification(every="1h", timeout=timeout)
                run = Run(number, 0, Kind.SLOT, 0, 0, 0, str(number), attempt=1)
                executor.start(Claim(run, said, timeout, None, None))
                await asyncio.sleep(0)
            async with asyncio.timeout(10):
                while len(ended) < len(timeouts):
                    await asyncio.sleep(0.01)
            return ended

        return asyncio.run(live())

    def test_each_attempt_is_stopped_at_its_own_deadline(self):
        stopped = self.lived("300ms", "100ms", "200ms")
        assert stopped == [("100ms", "timed_out"), ("200ms", "timed_out"), ("300ms", "timed_out")]


def test_leases_are_renewed_in_time_though_the_clock_is_set_back(service: House):
    service.add(every="1h")
    service.work = lambda call: service.sleep(20 * HOUR)
    service.go("09:00:04")
    service.clock.instant = at("08:00")
    service.hint("renewer")
    service.go("08:00:05")

    assert (service.runs()[0].lease_until or 0) > at("08:00:10")
    assert service.states() == ["running"]


def test_an_attempt_does_not_wait_for_ever_behind_one_that_is_deaf(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr("quarterjack.engine.executor.GIVE_UP_SECONDS", 0.1)

    async def lived() -> list[int]:
        begun: list[int] = []

        async def deaf() -> None:
            begun.append(current_call.get().attempt)
            while len(begun) < 2:
                try:
                    await asyncio.sleep(5)
                except asyncio.CancelledError:
                    continue

        targets = {"task": TaskTarget({"work": deaf})}
        executor = Executor(
            targets, SystemClock(), SystemClock().now, lambda *_: None, lambda: None
        )
        run = Run(1, 0, Kind.SLOT, 0, 0, 0, "1", attempt=1)
        said = specification(every="1h")
        first = executor.start(Claim(run, said, "k", None, None))
        await asyncio.sleep(0)
        executor.stop(first, Cause.TIMEOUT)
        again = Claim(run._replace(attempt=2), said, "k", None, None)
        executor.start(again, [first.task])
        for _ in range(200):
            if len(begun) == 2:
                break
            await asyncio.sleep(0.01)
        seen = list(begun)
        begun += [0, 0]  # now it hears
        first.task.cancel()
        return seen

    assert asyncio.run(lived()) == [1, 2]
