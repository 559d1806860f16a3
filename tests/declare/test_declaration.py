"""Declarations: settings and schedules of a file, or all of its problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.declare.declarations import declaration_of, declared_values, problems_of
from quarterjack.rules import Limits

SCHEDULE = {"every": "1h", "command": ["x"]}


def test_settings_and_defaults_apply_to_the_schedules(tmp_path: Path):
    declaration = declaration_of(
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
    first, second = declaration.specifications["a"], declaration.specifications["b"]
    node_config = declaration.node_config("w")

    assert (first.timezone, second.timezone) == ("Europe/Berlin", "UTC")
    assert first.retry.retries_max == 2
    assert node_config.limits.max_scheduled_jobs == 5
    assert node_config.worker == ("w", ("default", "slow"), 3, 5_000_000)
    assert (node_config.grace_seconds, node_config.retention.run_count) == (60, None)
    assert node_config.retention.run_age == 7 * 86_400_000_000


def test_a_preset_of_the_service_brings_its_limits(tmp_path: Path):
    declaration = declaration_of(tmp_path, "preset: agent\nschedules: {}\n")

    assert declaration.limits.max_catchup_runs == 5


@pytest.mark.mission("D3")
@pytest.mark.mission("D10", "P6", "H8", "E8")
def test_each_schedule_has_its_own_preset_or_that_of_its_kind_or_of_the_service(tmp_path: Path):
    declaration = declaration_of(
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

    def policies(key: str) -> tuple[object, ...]:
        read = declaration.specifications[key]
        catch_up, retries = read.catch_up.policy, read.retry.retries_max
        return read.preset, str(catch_up), retries, read.max_consecutive_errors

    assert policies("plugin") == ("ductile", "skip", 0, 0)
    assert policies("workflow") == ("pipelit", "run_once", 3, 0)
    assert policies("prompt") == policies("command") == ("agent", "run_once", 0, 4)
    assert policies("task") == ("horsies", "run_once", 0, 0)
    assert declaration.limits == Limits(1000, 5, 5, 5000, 60_000, 4), "of the service's preset"


def test_all_problems_are_reported_at_once_with_their_lines(tmp_path: Path):
    message = problems_of(
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
    ("text", "problem"),
    [
        ("\nscheduels: {}", ':2: setting "scheduels" is unknown; did you mean schedules?'),
        ("zzz: 1", ':1: setting "zzz" is unknown; use database, declared_only, defaults'),
        ("schedules: [a]", "schedules ['a'] is not a mapping; write a name, and fields below it"),
        ("name: ''", 'name "" is not'),
        ("durability: some", "use full or normal"),
        ("defaults: 3", "defaults 3 is not a mapping"),
        ("queues: default", "is not a list of names"),
        ("workers: 0", "workers 0 is outside 1-10000"),
        ("lease: 1ms", 'lease "1ms"'),
        ("lease: 2h", "is outside 1s to 1h"),
        ("retention: 3", "retention 3 is not a mapping"),
        ("retention: {age: 3d}", "retention.age"),
        ("limits: {x: 1}", "x 1 is unknown"),
        ("preset: [1]", "preset [1]"),
        ("database: 5", "database 5"),
    ],
)
def test_an_invalid_setting_is_refused_with_advice(tmp_path: Path, text: str, problem: str):
    message = problems_of(tmp_path, text)

    assert message.startswith(str(tmp_path / "q.yaml"))
    assert problem in message


def test_a_setting_that_is_null_has_its_default():
    declaration = declared_values(name=None, workers=None, schedules=None)

    assert (declaration.name, declaration.settings.workers) == ("values", 16)
    assert declaration.specifications == {}


def test_a_key_that_looks_like_an_id_is_refused(tmp_path: Path):
    message = problems_of(tmp_path, "schedules:\n  '42': {every: 1h, command: [x]}\n")

    assert f'{tmp_path}/q.yaml:2: schedule "42" looks like an id' in message


def test_the_same_file_has_the_same_revision_wherever_it_lies(tmp_path: Path):
    text = "schedules: {a: {every: 1h, command: [x]}}\n"
    folders = [tmp_path / name for name in ("one", "other")]
    for folder in folders:
        folder.mkdir()

    one, other = (declaration_of(folder, text) for folder in folders)

    assert one.service.file != other.service.file
    assert one.revision == other.revision


def test_another_schedule_or_setting_of_the_service_is_another_revision():
    before = declared_values(schedules={"a": SCHEDULE})
    others = [
        declared_values(schedules={"a": SCHEDULE | {"every": "2h"}}),
        declared_values(schedules={"a": SCHEDULE, "b": SCHEDULE}),
        declared_values(schedules={"a": SCHEDULE}, preset="horsies"),
        declared_values(schedules={"a": SCHEDULE}, retention={"run_count": 3}),
    ]

    assert len({before.revision, *(each.revision for each in others)}) == 5


def test_the_settings_of_one_node_are_not_part_of_the_revision():
    before = declared_values(schedules={"a": SCHEDULE})
    other = declared_values(schedules={"a": SCHEDULE}, workers=3, lease="20s", grace="1m")

    assert before.revision == other.revision


def test_a_wrong_setting_hides_no_problem_of_a_schedule(tmp_path: Path):
    message = problems_of(
        tmp_path,
        "workers: 0\nlease: 1ms\nqueues: reports\nlimits: {x: 1}\ntimezone: Nowhere\n"
        "schedules:\n"
        "  a: {every: 1h, command: [x], queue: reports}\n"
        "  b: {cron: '0 25 * * *', command: [x]}\n",
    )

    fields = ("timezone", "queues", "workers", "lease", "x 1", 'schedule "b": hour 25')
    assert [message.count(f" {each} ") for each in fields] == [1] * len(fields)
    assert "6 problems" in message, "whether schedule a may use its queue is not known"


@pytest.mark.parametrize("setting", ["defaults: 3", "preset: agnet"])
def test_schedules_are_not_judged_without_the_defaults_that_they_rely_on(
    tmp_path: Path, setting: str
):
    message = problems_of(tmp_path, f"{setting}\nschedules:\n  b: {{every: 25x, command: [x]}}\n")

    assert "25x" not in message
    assert "problems" not in message
