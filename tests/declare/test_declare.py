"""From a file to schedules in the store: reading, all problems at once, and the difference."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from harness.rules.world import at
from harness.store.stored_world import SetClock, at_once, memory_store
from harness.store.stores import new
from quarterjack import rules
from quarterjack.declare.apply import apply
from quarterjack.declare.declaration import Declaration, read_declaration
from quarterjack.declare.reconciler import Reconciler
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import Conflict, InvalidSpecification
from quarterjack.rules import Limits, Status
from quarterjack.store.sqlite.store import SqliteStore


def declared(folder: Path, text: str) -> Declaration:
    path = folder / "q.yaml"
    path.write_text(text)
    return read_declaration(path)


def problems(folder: Path, text: str) -> str:
    with pytest.raises(InvalidSpecification) as refusal:
        declared(folder, text)
    return str(refusal.value)


class TestReading:
    def test_values_stay_what_people_mean(self, tmp_path: Path):
        path = tmp_path / "a.yaml"
        path.write_text("a: 12:30\nb: on\nc: 2026-12-24\nd: [1, 2.5, true, null]\ne: '7'\n")

        document = read_yaml(path)

        assert document.values == {
            "a": "12:30",
            "b": "on",
            "c": "2026-12-24",
            "d": [1, 2.5, True, None],
            "e": "7",
        }
        assert (document.line("c"), document.line("c", "x"), document.line("z")) == (3, 3, 1)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a: 1\na: 2\n", 'line 2 says "a" twice; remove one of them'),
            ("a: [1\nb: 2\n", "is not YAML"),
            ("- a\n", "line 1 is no mapping"),
            ("", "line 1 says nothing; write `schedules: {}`"),
            ("# nothing\n", "line 1 says nothing"),
            ("a: !!python/object/apply:os.system [ls]\n", "has the tag"),
            ("a: !!int abc\n", "holds a number that is none"),
            ("? [a]\n: 1\n", "has a key that is no text"),
            ("a: " + "[" * 150 + "]" * 150, "is nested too deeply"),
        ],
    )
    def test_what_cannot_be_read_says_where(self, tmp_path: Path, text: str, said: str):
        message = problems(tmp_path, text)

        assert message.startswith(str(tmp_path / "q.yaml"))
        assert said in message

    def test_a_small_file_that_says_the_same_without_end(self, tmp_path: Path):
        bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
        )

        assert "says too much" in problems(tmp_path, bomb)

    def test_no_file_a_folder_and_bytes_that_are_no_text(self, tmp_path: Path):
        (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
        for name, said in [("none", "does not exist"), (".", "is no file"), ("bytes", "cannot be")]:
            with pytest.raises(InvalidSpecification, match=said):
                read_yaml(tmp_path / name)

    def test_a_file_that_is_too_long(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("quarterjack.declare.yaml_file._BYTES_MAX", 3)

        assert "is too long" in problems(tmp_path, "a: 1\n")


class TestADeclaration:
    def test_settings_and_defaults_reach_the_schedules(self, tmp_path: Path):
        said = declared(
            tmp_path,
            "timezone: Europe/Berlin\n"
            "defaults: {max_retries: 2}\n"
            "limits: {max_scheduled_jobs: 5}\n"
            "queues: [default, slow]\n"
            "lease: 5s\nworkers: 3\ngrace: 1m\n"
            "retention: {run_age: 7d, run_count: none}\n"
            "schedules:\n"
            "  a: {every: 1h, command: [x]}\n"
            "  b: {every: 1h, command: [x], timezone: UTC, queue: slow}\n",
        )
        first, second = said.specification("a", None), said.specification("b", None)
        node_config = said.node_config("w")

        assert (first.timezone, second.timezone) == ("Europe/Berlin", "UTC")
        assert first.retry.retries_max == 2
        assert node_config.limits.max_scheduled_jobs == 5
        assert node_config.seats == ("w", ("default", "slow"), 3, 5_000_000)
        assert (node_config.grace_seconds, node_config.retention.run_count) == (60, None)
        assert node_config.retention.run_age == 7 * 86_400_000_000

    def test_a_preset_of_the_service_brings_its_limits(self, tmp_path: Path):
        said = declared(tmp_path, "preset: agent\nschedules: {}\n")

        assert said.limits.max_catchup_runs == 5

    @pytest.mark.mission("D3")
    @pytest.mark.mission("D10", "P6", "H8", "E8")
    def test_one_file_holds_schedules_of_several_seeds_each_with_the_preset_of_its_own(
        self, tmp_path: Path
    ):
        said = declared(
            tmp_path,
            "preset: agent\n"
            "limits: {max_consecutive_errors: 4}\n"
            "schedules:\n"
            "  plugin: {every: 1h, plugin: echo}\n"
            "  workflow: {every: 1h, workflow_id: 1}\n"
            "  prompt: {every: 1h, prompt: hello}\n"
            "  command: {every: 1h, command: [x]}\n"
            "  task: {every: 1h, task: work, preset: horsies}\n",
        )

        def row(key: str) -> tuple[object, ...]:
            read = said.specification(key, None)
            catch_up, retries = read.catch_up.policy, read.retry.retries_max
            return read.preset, str(catch_up), retries, read.max_consecutive_errors

        assert row("plugin") == ("ductile", "skip", 0, 0)
        assert row("workflow") == ("pipelit", "run_once", 3, 0)
        assert row("prompt") == row("command") == ("agent", "run_once", 0, 4)
        assert row("task") == ("horsies", "run_once", 0, 0)
        assert said.limits == Limits(1000, 5, 5, 5000, 60_000, 4), "those of the service's preset"

    def test_every_problem_is_told_at_once_with_its_line(self, tmp_path: Path):
        message = problems(
            tmp_path,
            "schedules:\n"
            "  a:\n    cron: '0 25 * * *'\n    command: [x]\n"
            "  b:\n    command: [x]\n"
            "  c:\n    every: 1h\n    at: 2026-12-24T00:00:00Z\n    command: [x]\n"
            "  d: {every: 1h, command: [x], queue: other}\n",
        )
        place = tmp_path / "q.yaml"

        assert "4 problems" in message
        assert f'{place}:2: schedule "a": hour 25 is outside 0-23' in message
        assert f'{place}:5: schedule "b"' in message
        assert f'{place}:7: schedule "c"' in message
        assert 'schedule "d": queue "other" is not declared; use one of default' in message

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("scheduels: {}", 'line 1: "scheduels" is no setting; did you mean schedules?'),
            ("zzz: 1", "is no setting; use"),
            ("schedules: [a]", "schedules"),
            ("name: ''", "name"),
            ("durability: some", "use full or normal"),
            ("defaults: 3", "defaults 3 is no mapping"),
            ("queues: default", "is no list of names"),
            ("workers: 0", "workers"),
            ("lease: 1ms", "lease"),
            ("lease: 2h", "is outside 1s to 1h"),
            ("retention: 3", "retention 3 is no mapping"),
            ("retention: {age: 3d}", "retention.age"),
            ("limits: {x: 1}", "x 1 is unknown"),
            ("preset: [1]", "preset"),
            ("database: 5", "database"),
        ],
    )
    def test_a_wrong_setting_says_what_to_do(self, tmp_path: Path, text: str, said: str):
        assert said in problems(tmp_path, text)


@pytest.fixture
def store() -> SqliteStore:
    return memory_store(SetClock(at("08:00")))


def schedules(store: SqliteStore) -> dict[str, Any]:
    rows = store._walker._connection.execute(
        "select key, id, version, status, owner from schedules where deleted_at is null"
    ).fetchall()
    return {str(row[0]): row[1:] for row in rows}


def preset_of(store: SqliteStore, key: str) -> Any:
    caller = "select preset from schedules where key = ? and deleted_at is null"
    return store._walker._connection.execute(caller, (key,)).fetchall()[0][0]


def fire(store: SqliteStore) -> None:
    """What is due runs, and succeeds."""
    at_once(store.plan_due(at("08:00"), 10, rules.plan))
    (claim,) = at_once(store.claim_runs("w", ["default"], 1, at("09:00"), at("08:00"))).claims
    outcome = rules.Outcome(rules.Ending.SUCCEEDED, at("08:01"))
    at_once(store.settle_runs("w", [(claim.run, outcome)], rules.settle, at("08:01")))
    at_once(store.plan_due(at("08:01"), 10, rules.plan))


ONCE = "schedules:\n  once: {at: 2026-11-16T07:00:00Z, command: [x], delete_after_run: true, %s}\n"
ONE = "name: file\nschedules:\n  a: {every: 1h, command: [x], payload: {secret: 1}}\n"


class TestApplying:
    def test_the_store_becomes_what_the_file_says(
        self, store: SqliteStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ):
        logging.getLogger("quarterjack").propagate = True
        caplog.set_level("INFO", "quarterjack")
        at_once(apply(store, declared(tmp_path, ONE), at("08:00")))
        again = at_once(apply(store, declared(tmp_path, ONE), at("08:05")))
        two = (
            ONE.replace("1h", "2h").replace("secret: 1", "secret: 2")
            + "  b: {every: 1h, command: [x]}\n"
        )
        at_once(apply(store, declared(tmp_path, two), at("08:10")))

        assert again[:3] == ([], [], [])
        assert schedules(store) == {"a": (1, 2, "active", "file"), "b": (2, 1, "active", "file")}
        text = caplog.text
        assert "schedule changed schedule=a field=every was=1h becomes=2h" in text
        assert "field=payload" in text
        assert "secret" not in text

        at_once(apply(store, declared(tmp_path, "name: file\nschedules: {}"), at("08:20")))
        assert schedules(store) == {}

    def test_what_others_own_is_left_alone_and_never_taken(
        self, store: SqliteStore, tmp_path: Path
    ):
        theirs = new("theirs", 0, every="1h")._replace(owner="other", origin="declaration")
        wanted = [new("mine", 0, every="1h")._replace(owner="default"), theirs]
        at_once(
            store.add_schedules(
                wanted,
                lambda identity, each, active: rules.create(
                    identity, each.key, each.specification, 0, active=active, limits=Limits()
                ),
                0,
            )
        )
        at_once(apply(store, declared(tmp_path, "schedules: {}"), at("08:00")))
        assert list(schedules(store)) == ["mine", "theirs"]

        for key, whose in [("mine", "people"), ("theirs", 'the declaration "other"')]:
            text = f"schedules:\n  {key}: {{every: 1h, command: [x]}}\n"
            with pytest.raises(Conflict, match=f'schedule "{key}" belongs to {whose}'):
                at_once(apply(store, declared(tmp_path, text), at("08:00")))

    def test_a_schedule_that_was_invalid_is_tried_again(self, store: SqliteStore, tmp_path: Path):
        at_once(apply(store, declared(tmp_path, ONE), at("08:00")))
        at_once(store.change_schedule(1, lambda facts, now: rules.invalidate(facts, "odd"), 0))
        assert schedules(store)["a"][2] == Status.INVALID

        at_once(apply(store, declared(tmp_path, ONE), at("08:10")))

        assert schedules(store)["a"][1:3] == (2, Status.ACTIVE)

    @pytest.mark.mission("D12")
    def test_a_one_shot_that_fired_and_was_deleted_does_not_come_back(
        self, store: SqliteStore, tmp_path: Path
    ):
        text = ONCE % ""
        at_once(apply(store, declared(tmp_path, text), at("08:00")))
        fire(store)
        assert schedules(store) == {}

        at_once(apply(store, declared(tmp_path, text), at("08:10")))

        assert schedules(store) == {}

    @pytest.mark.mission("D12", "D10")
    def test_a_one_shot_that_fired_before_presets_were_stored_does_not_come_back(
        self, store: SqliteStore, tmp_path: Path
    ):
        """Its definition is the same, for all that a preset says is spelled out."""
        spelled_out = ONCE % "if_running: allow, timeout: none"
        at_once(apply(store, declared(tmp_path, spelled_out), at("08:00")))
        fire(store)

        at_once(apply(store, declared(tmp_path, ONCE % "preset: horsies"), at("08:10")))

        assert schedules(store) == {}

    @pytest.mark.mission("D10")
    def test_a_preset_is_noted_though_it_changes_nothing_else(
        self, store: SqliteStore, tmp_path: Path
    ):
        spelled_out = "schedules: {a: {every: 1h, command: [x], max_consecutive_errors: 10}}\n"
        at_once(apply(store, declared(tmp_path, spelled_out), at("08:00")))
        assert preset_of(store, "a") is None

        at_once(apply(store, declared(tmp_path, f"preset: agent\n{spelled_out}"), at("08:10")))

        assert (preset_of(store, "a"), schedules(store)["a"][1]) == ("agent", 2)

    @pytest.mark.mission("H7")
    def test_a_row_that_somebody_removed_is_made_anew_from_now_without_a_backlog(
        self, store: SqliteStore, tmp_path: Path
    ):
        said = declared(tmp_path, ONE)
        at_once(apply(store, said, at("08:00")))
        reconciler = Reconciler(store, said)
        assert asyncio.run(reconciler.step(at("08:00"))) == at("08:01")
        store._walker._connection.execute("delete from schedules")

        asyncio.run(reconciler.step(at("15:30")))
        planned = at_once(store.plan_due(at("15:30"), 10, rules.plan))

        assert schedules(store)["a"][0] == 2
        assert (planned.added, planned.next_wake) == (0, at("16:30"))

    def test_the_keeper_takes_nothing_away(self, store: SqliteStore, tmp_path: Path):
        """Another node may run a later declaration of the same name."""
        reconciler = Reconciler(store, declared(tmp_path, ONE))
        later = ONE + "  b: {every: 1h, command: [x]}\n"
        at_once(apply(store, declared(tmp_path, later), at("08:00")))

        asyncio.run(reconciler.step(at("08:01")))

        assert list(schedules(store)) == ["a", "b"]
