"""Settings of a service: their checks, and what they mean for all schedules."""

from __future__ import annotations

from typing import Any

import pytest

from harness.declare.declarations import ValuesSource
from quarterjack.config import Settings
from quarterjack.declare.settings import service_settings
from quarterjack.errors import InvalidSpecification, Problems
from quarterjack.rules import ServiceSettings


def read(**values: Any) -> ServiceSettings:
    problems = Problems(InvalidSpecification)
    source = ValuesSource({}, location="/etc/q.yaml")
    found = service_settings(Settings(**values), source, problems)
    problems.raise_if_any()
    return found


def test_the_settings_that_all_schedules_share():
    found = read(
        name="team",
        preset="horsies",
        timezone="Europe/Berlin",
        defaults={"max_retries": 2},
        queues=["default", "slow"],
        declared_only=True,
    )

    assert (found.name, found.file, found.preset) == ("team", "/etc/q.yaml", "horsies")
    assert found.defaults == {"max_retries": 2, "timezone": "Europe/Berlin"}
    assert (found.queues, found.declared_only) == (("default", "slow"), True)


def test_a_timezone_of_the_defaults_takes_precedence():
    found = read(timezone="Europe/Berlin", defaults={"timezone": "UTC"})

    assert found.defaults == {"timezone": "UTC"}


def test_a_preset_of_the_service_brings_its_limits():
    assert read(preset="agent").limits.max_catchup_runs == 5
    assert read(preset="agent", limits={"max_catchup_runs": 7}).limits.max_catchup_runs == 7


def test_a_retention_of_none_keeps_rows_for_ever():
    found = read(retention={"run_age": "none", "run_count": 3}).retention

    assert (found.run_age, found.run_count) == (None, 3)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"name": ""}, 'name "" is not'),
        ({"durability": "some"}, 'durability "some" is unknown; use full or normal'),
        ({"defaults": 3}, "defaults 3 is not a mapping; write fields and values"),
        ({"queues": "default"}, 'queues "default" is not a list of names; write [default]'),
        ({"queues": []}, "queues [] is not a list of names; write [default]"),
        ({"queues": [""]}, 'queues "" is not'),
        ({"workers": 0}, "workers 0 is outside 1-10000"),
        ({"lease": "1ms"}, 'lease "1ms" is outside 1s to 1h; use 10s'),
        ({"lease": "2h"}, 'lease "2h" is outside 1s to 1h; use 10s'),
        ({"grace": "soon"}, 'grace "soon"'),
        ({"retention": 3}, "retention 3 is not a mapping; write run_age: 90d"),
        ({"retention": {"age": "3d"}}, 'retention.age "3d" is unknown; use run_age'),
        ({"retention": {"run_count": 0}}, "retention.run_count 0 is outside 1-"),
        ({"limits": {"x": 1}}, "x 1 is unknown; use max_scheduled_jobs"),
        ({"preset": [1]}, "preset [1] is unknown; use ductile"),
        ({"preset": "agnet"}, 'preset "agnet" is unknown'),
        ({"timezone": "Europe/Berln"}, 'timezone "Europe/Berln" is unknown; did you mean'),
        ({"database": 5}, "database 5 is not text"),
        ({"declared_only": "yes"}, 'declared_only "yes" is neither true nor false; write true'),
    ],
)
def test_an_error_says_what_is_wrong_and_what_to_do(values: dict[str, Any], problem: str):
    with pytest.raises(InvalidSpecification) as error:
        read(**values)

    assert str(error.value).startswith(problem)


def test_the_problems_of_all_settings_are_reported_at_once():
    with pytest.raises(InvalidSpecification) as error:
        read(name="", workers=0, limits={"x": 1}, retention=3)

    fields = [problem.field for problem in error.value.problems]
    assert fields == ["name", "workers", "x", "retention"]
