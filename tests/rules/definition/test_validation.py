"""Validation of whole definitions."""

from __future__ import annotations

from typing import Any

import pytest

from harness.rules.values import at, problems, specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import read_specification
from quarterjack.targets.kinds import KINDS
from quarterjack.times import Cron, Every

NOW = at("08:00")


@pytest.mark.parametrize("mapping", [None, [], "every: 5m", 7])
def test_a_definition_must_be_a_mapping(mapping: Any):
    with pytest.raises(InvalidSpecification, match=" is not a mapping; write fields and values"):
        read_specification(mapping, kinds=KINDS, key="k", now=NOW)


def test_field_names_must_be_text():
    with pytest.raises(InvalidSpecification, match="7 8 is an unknown field"):
        read_specification({"task": "t", "every": "5m", 7: 8}, kinds=KINDS, key="k", now=NOW)


def test_all_problems_are_reported_at_once():
    found = problems(
        every="0s",
        task=7,
        catch_up="all",
        max_retries=-1,
        timezone="Mars",
        colour="red",
        preset="x",
    )

    fields = [problem.split()[0] for problem in found]
    assert " ".join(fields) == "colour task preset timezone catch_up max_retries"


class TestRecurrence:
    @pytest.mark.mission("D3")
    def test_none_or_several_recurrences_are_an_error_that_names_the_schedule(self):
        with pytest.raises(InvalidSpecification) as caught:
            specification("echo/hourly", plugin="echo")
        assert str(caught.value).startswith('schedule "echo/hourly": a recurrence is missing')
        assert "a recurrence is missing; use exactly one of cron, every" in str(caught.value)

        (problem,) = problems(evry="5m")
        assert problem == 'evry "5m" is an unknown field; did you mean every?'
        (problem,) = problems(every="5m", cron="0 9 * * *")
        assert "has cron and every; use exactly one of cron, every" in problem

    @pytest.mark.mission("E10")
    def test_words_are_counted_as_the_field_that_says_the_same(self):
        for target, anchor in (({"task": "t"}, "slot"), ({"workflow_id": 1}, "completion")):
            words = specification(schedule="every 5 minutes", **target)
            assert words == specification(every="5m", **target)
            assert words.recurrence.to_json()["anchor"] == anchor
        assert specification(schedule="in 2 hours") == specification(after="2h")

    @pytest.mark.mission("D3")
    @pytest.mark.parametrize(
        "fields",
        [
            {"every": "5m"},
            {"cron": "0 9 * * *"},
            {"at": "2026-12-01T00:00:00Z"},
            {"after": "10m"},
            {"interval_seconds": 300},
            {"daily": {"time": "09:00"}},
        ],
    )
    def test_exactly_one_recurrence_is_accepted(self, fields: dict[str, Any]):
        assert specification(**fields).recurrence is not None

    def test_a_field_that_does_not_fit_the_recurrence_is_refused_unless_it_is_a_default(self):
        (problem,) = problems(every="5m", dialect="posix")
        assert problem.startswith('dialect "posix" does not go with every')

        posix = specification(every="5m", preset="posix", timezone="UTC")
        assert posix.recurrence == Every("5m", timezone="UTC", dst_gap="skip", dst_fold="twice")

    def test_the_key_of_the_schedule_is_used_for_a_hash(self):
        one = specification("one", cron="H H * * *").recurrence
        other = specification("other", cron="H H * * *").recurrence

        assert isinstance(one, Cron)
        assert one.key == "one"
        assert one != other
        fields = {"task": "t", "cron": "H H * * *", "key": "mine"}
        with pytest.raises(InvalidSpecification, match='key "mine" is an unknown field'):
            read_specification(fields, kinds=KINDS, key="one", now=NOW)

    def test_a_hash_reads_back_under_the_same_key(self):
        once = specification("one", cron="H H * * *")

        assert read_specification(once.to_json(), kinds=KINDS, key="one", now=NOW) == once

    def test_an_unknown_time_zone_is_reported_once(self):
        found = problems(cron="0 9 * * *", timezone="Mars/Olympus")
        assert set(found) == {
            'timezone "Mars/Olympus" is unknown; use a name such as "Europe/Berlin", or "local"'
        }


class TestServiceDefaults:
    @pytest.mark.parametrize(
        ("defaults", "problem"),
        [
            ({"max_retrys": 3}, "max_retrys 3 is an unknown field; did you mean max_retries"),
            (["max_retries"], "defaults .* is not a mapping"),
            ({"timeout_seconds": 0}, "timeout_seconds 0 is outside"),
            ({"task": "t"}, 'defaults.task "t" belongs to each schedule; write it there'),
            ({"every": "5m"}, "defaults.every"),
            ({"preset": "posix"}, "defaults.preset"),
        ],
    )
    def test_wrong_fields_are_refused(self, defaults: Any, problem: str):
        with pytest.raises(InvalidSpecification, match=problem):
            read_specification(
                {"task": "t", "every": "5m"}, kinds=KINDS, key="k", now=NOW, defaults=defaults
            )

    def test_null_is_the_same_as_nothing(self):
        result = read_specification(
            {"task": "t", "every": "5m"},
            kinds=KINDS,
            key="k",
            now=NOW,
            defaults={"max_retries": None},
        )

        assert result.retry.retries_max == 0

    def test_a_wrong_value_is_reported(self):
        with pytest.raises(InvalidSpecification, match="max_retries"):
            read_specification(
                {"task": "t", "every": "5m"},
                kinds=KINDS,
                key="k",
                now=NOW,
                defaults={"max_retries": -1},
            )
