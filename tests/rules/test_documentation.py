"""The page of the policies is complete."""

from __future__ import annotations

import re
from pathlib import Path

from harness.rules.values import FIELDS
from quarterjack.rules import Reason
from quarterjack.rules.policies.catch_up import CatchUpPolicy
from quarterjack.rules.policies.execution import Execution
from quarterjack.rules.policies.first_run import FirstRun
from quarterjack.rules.policies.overlap import IfRunning
from quarterjack.rules.policies.retry import Backoff, OnExhausted
from quarterjack.rules.policies.windows import OnConstraint


class TestPolicies:
    """docs/policies.md is complete. Its timelines are drawn again whenever the tests run."""

    PAGE = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()

    def test_every_reason_is_explained(self):
        for reason in Reason:
            assert f"| `{reason}` |" in self.PAGE
            assert reason.meaning in self.PAGE

    def test_every_field_is_named(self):
        naming = {"at", "after", "cron", "every", "interval_seconds", "hourly", "daily", "weekly"}
        fields = FIELDS - naming - {"monthly"}

        assert [field for field in sorted(fields) if f"`{field}" not in self.PAGE] == []

    def test_every_value_of_a_policy_has_a_timeline(self):
        lists = [CatchUpPolicy, OnConstraint, IfRunning, Backoff, OnExhausted, Execution, FirstRun]
        drawn = re.findall(r"```timeline\n(.*?)\n\n", self.PAGE, re.DOTALL)

        missing = [
            word
            for words in lists
            for word in words
            if not any(f": {word}\n" in f"{head}\n" for head in drawn)
        ]
        assert missing == []

    def test_every_policy_is_linked_to_a_file_that_exists(self):
        files = re.findall(r"\]\(\.\./(src/[^)]+)\)", self.PAGE)

        assert len(files) > 15
        assert [file for file in files if not (Path(__file__).parents[2] / file).is_file()] == []
