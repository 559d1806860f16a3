"""Validation: what a person wrote becomes a specification, or every problem at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.rules.world import at, specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules import PRESETS, Limits, read_specification
from quarterjack.rules.definition.presets import AS_A_SETTING, GENERAL
from quarterjack.rules.definition.validation import FIELDS
from quarterjack.times import Cron, Every
from quarterjack.times.instants import DAY, HOUR, MINUTE, SECOND

NOW = at("08:00")
letters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])


def problems(**fields: Any) -> list[str]:
    """Each problem, as it is told."""
    with pytest.raises(InvalidSpecification) as caught:
        specification(**fields)
    return [str(problem) for problem in caught.value.problems]


class TestWhen:
    @pytest.mark.mission("D3")
    def test_none_or_several_recurrences_are_an_error_that_names_the_schedule(self):
        with pytest.raises(InvalidSpecification) as caught:
            specification("echo/hourly", plugin="echo")
        assert str(caught.value).startswith('schedule "echo/hourly": recurrence {')
        assert "names no instants; give exactly one of cron, every" in str(caught.value)

        (problem,) = problems(every="5m", cron="0 9 * * *")
        assert "has cron and every; give exactly one of cron, every" in problem

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
    def test_exactly_one_is_right(self, fields: dict[str, Any]):
        assert specification(**fields).recurrence is not None

    def test_what_does_not_go_with_a_recurrence_is_refused_only_if_it_was_said(self):
        (problem,) = problems(every="5m", dialect="posix")
        assert problem.startswith('dialect "posix" does not go with every')

        posix = specification(every="5m", preset="posix", timezone="UTC")
        assert posix.recurrence == Every("5m", timezone="UTC", dst_gap="skip", dst_fold="twice")

    def test_the_key_is_filled_in_where_a_hash_needs_it(self):
        one = specification("one", cron="H H * * *").recurrence
        other = specification("other", cron="H H * * *").recurrence

        assert isinstance(one, Cron)
        assert one.key == "one"
        assert one != other
        fields = {"task": "t", "cron": "H H * * *", "key": "mine"}
        with pytest.raises(InvalidSpecification, match='key "mine" is no field of a schedule'):
            read_specification(fields, key="one", now=NOW)

    def test_a_hash_reads_back_under_the_same_key(self):
        once = specification("one", cron="H H * * *")

        assert read_specification(once.to_json(), key="one", now=NOW) == once

    def test_a_zone_that_does_not_exist_is_told_once_for_each_place(self):
        found = problems(cron="0 9 * * *", timezone="Mars/Olympus")
        assert set(found) == {
            'timezone "Mars/Olympus" is unknown; name a place, such as "Europe/Berlin", '
            'or write "local"'
        }


class TestTarget:
    @pytest.mark.parametrize(
        ("fields", "kind", "said"),
        [
            ({"task": "t", "args": [1]}, "task", {"task": "t", "args": [1], "kwargs": {}}),
            ({"command": ["ls", "-l"]}, "command", {"command": ["ls", "-l"]}),
            ({"plugin": "echo"}, "plugin", {"plugin": "echo", "command": "poll"}),
            (
                {"plugin": "echo", "command": "sync"},
                "plugin",
                {"plugin": "echo", "command": "sync"},
            ),
            ({"http": {"url": "https://x"}}, "http", {"http": {"url": "https://x"}}),
            ({"prompt": "hi"}, "prompt", {"prompt": "hi", "model": None, "opts": {}}),
            ({"workflow_id": 3}, "workflow", {"workflow_id": 3, "trigger_node_id": None}),
            ({"rq": {"function": "f"}}, "rq", {"rq": {"function": "f"}}),
            ({"celery": {"task": "f"}}, "celery", {"celery": {"task": "f"}}),
            (
                {"target": {"kind": "http", "url": "https://x"}},
                "http",
                {"http": {"url": "https://x"}},
            ),
            (
                {"target": {"kind": "prompt", "prompt": "hi", "model": "m"}},
                "prompt",
                {"prompt": "hi", "model": "m", "opts": {}},
            ),
            (
                {"target": {"kind": "workflow", "workflow_id": 3}},
                "workflow",
                {"workflow_id": 3, "trigger_node_id": None},
            ),
        ],
    )
    def test_each_kind_in_each_spelling(
        self, fields: dict[str, Any], kind: str, said: dict[str, Any]
    ):
        target = specification(every="5m", **fields).target

        assert (target.kind, target.to_json()) == (kind, said)

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"task": None}, "target {} names nothing to do; give exactly one of task, plugin"),
            ({"task": "t", "prompt": "p"}, "has task and prompt; give exactly one of"),
            ({"task": 7}, "task 7 is not text; write it as in task: cleanup"),
            ({"task": ""}, 'task "" is no text; give some, or leave it out'),
            ({"command": "ls"}, 'command "ls" is not a list; write it as in command: ['),
            ({"command": ["ls", 7]}, "is not a list of text"),
            ({"command": []}, "command [] is empty"),
            ({"workflow_id": True}, "workflow_id True is not a number"),
            ({"task": "t", "args": 3}, "args 3 is not a list; write it as in task: cleanup"),
            ({"task": "t", "model": "m"}, "does not go with task; write it as in task: cleanup"),
            ({"plugin": "p", "command": ["x"]}, "is not text; write it as in plugin: echo"),
            ({"target": "http"}, 'target "http" is of no known kind; write {kind: ...} with one'),
            ({"target": {"kind": "ftp"}}, "is of no known kind"),
            ({"target": {"kind": ["http"]}}, "is of no known kind"),
            ({"target": {"kind": "task", "task": "t"}, "task": "t"}, "stands beside another"),
            ({"target": {"kind": "task", "task": "t", 1: 2}}, "1 {1: 2} does not go with task"),
            ({"workflow_id": 0}, "workflow_id 0 is outside 1-"),
            ({"workflow_id": 10**30}, "is outside 1-9223372036854775807"),
            ({"plugin": "a/b"}, 'plugin "a/b" holds a slash; use a name without one'),
            ({"plugin": "a", "command": ""}, 'command "" is no text'),
            ({"task": "a\nb"}, "is no label"),
        ],
    )
    def test_what_cannot_be_called_is_refused(self, fields: dict[str, Any], problem: str):
        (found,) = problems(every="5m", **fields)

        assert problem in found

    def test_the_scope_and_gate_of_a_plugin_are_its_command(self):
        poll = specification(plugin="echo", every="5m")
        task = specification(every="5m", circuit_breaker={})

        assert (poll.scope(7), poll.gate_key("k")) == ("echo/poll", "echo/poll")
        assert (task.scope(7), task.gate_key("k")) == ("7", "schedule/k")
        assert specification(every="5m").gate_key("k") is None

    def test_what_is_kept_is_a_copy_that_nobody_else_can_change(self):
        payload, arguments = {"list": [1]}, [1, (2, 3)]
        kept = specification(every="5m", task="t", payload=payload, args=arguments)
        payload["list"].append(2)
        arguments.append(4)

        assert kept.payload == {"list": [1]}
        assert kept.target.to_json()["args"] == [1, [2, 3]]

    def test_a_backslash_is_no_nul(self):
        payload = {"pattern": "\\u0000", "path": "C:\\\\u0000"}

        assert specification(every="5m", payload=payload).payload == payload

    def test_arguments_may_be_a_tuple(self):
        kept = specification(every="5m", task="t", args=(1, 2), kwargs={})

        assert kept.target.to_json() == {"task": "t", "args": [1, 2], "kwargs": {}}

    def test_a_prompt_may_have_many_lines(self):
        assert specification(every="5m", prompt="one\n\ttwo").target.kind == "prompt"


class TestFields:
    @pytest.mark.parametrize("mapping", [None, [], "every: 5m", 7])
    def test_what_is_no_mapping_is_refused(self, mapping: Any):
        with pytest.raises(InvalidSpecification, match=" is no mapping; write fields and values"):
            read_specification(mapping, key="k", now=NOW)

    def test_field_names_are_text(self):
        with pytest.raises(InvalidSpecification, match="7 8 is no field of a schedule"):
            read_specification({"task": "t", "every": "5m", 7: 8}, key="k", now=NOW)

    @pytest.mark.parametrize("jitter", [0, "0", "0s", "00m", "0ms", None])
    def test_no_jitter_can_be_said_in_many_ways(self, jitter: Any):
        assert specification(every="5m", jitter=jitter).jitter == 0

    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            ({"catch_up": "all"}, 'catch_up "all" is unknown; write run_once or skip or run_all'),
            ({"if_running": "kill"}, "write skip or queue or cancel or allow"),
            ({"on_exhausted": "stop"}, "write continue or dead or pause"),
            ({"retry_backoff": "linear"}, "write exponential or fixed"),
            ({"execution": "exactly_once"}, "write at_least_once or at_most_once"),
            ({"first_run": "later"}, "write slot or now or match"),
            ({"on_constraint": "wait"}, "write drop or defer"),
            ({"grace": "-5s"}, 'grace "-5s" is no duration; write units from large to small'),
            ({"grace": 0}, "grace 0 is no time at all; give at least 1ms"),
            ({"timeout": "200y"}, 'timeout "200y" is no duration'),
            ({"timeout": "99999999d"}, "is out of bounds; give a duration from 0 to 100 years"),
            ({"timeout_seconds": -3}, "timeout_seconds -3 is outside 1-3155760000"),
            (
                {"timeout_seconds": 5, "timeout": "5s"},
                'timeout "5s" says the same as timeout_seconds; give either one',
            ),
            (
                {"total_repeats": 4, "repeat_count": 3},
                "repeat_count 3 says the same as total_repeats; give either one",
            ),
            ({"retry_delay": 1.5}, "retry_delay 1.5 is no duration; give whole milliseconds"),
            ({"jitter": "soon"}, 'jitter "soon" is no duration'),
            ({"catch_up_window": []}, "catch_up_window [] is no duration"),
            ({"max_retries": -1}, "max_retries -1 is outside 0-1000000; give a whole number from"),
            ({"max_retries": "many"}, "is no number; give a whole number, or endless"),
            ({"max_retries": True}, "max_retries True is outside"),
            ({"max_catch_up_runs": 0}, "max_catch_up_runs 0 is outside 1-10000"),
            ({"max_catch_up_runs": 10_001}, "is outside 1-10000"),
            ({"queue_limit": 0}, "queue_limit 0 is outside 1-1000000"),
            ({"total_repeats": 1.0}, "total_repeats 1.0 is outside 0-1000000"),
            ({"priority": "high"}, 'priority "high" is outside -1000000-1000000'),
            ({"enabled": "yes"}, 'enabled "yes" is neither true nor false; write true or false'),
            ({"slot_preempts_retry": 1}, "slot_preempts_retry 1 is neither true nor false"),
            ({"queue": " "}, 'queue " " is no text; give some, or leave it out'),
            ({"name": 7}, "name 7 is no text"),
            ({"tags": "nightly"}, 'tags "nightly" is no list of labels; write a list of different'),
            ({"tags": ["a", "a"]}, "is no list of labels"),
            ({"tags": ["a", ""]}, 'tags "" is no text'),
            ({"payload": [1]}, "payload [1] is no mapping; give a JSON object"),
            ({"payload": {"x": float("nan")}}, "is not JSON (Out of range float values"),
            ({"payload": {"x": {1, 2}}}, "is not JSON (Object of type set is not JSON"),
            ({"payload": {1: 2}}, "changes when it is stored; use text, numbers, true, false"),
            ({"payload": {"x": "a\x00"}}, "holds U+0000, which a database refuses; remove it"),
            ({"payload": {"x": "\ud800"}}, "is not JSON ('utf-8' codec can't encode"),
            ({"kwargs": {"x": {1, 2}}}, "kwargs {'x': {1, 2}} is not JSON"),
            ({"args": [float("inf")]}, "args [inf] is not JSON (Out of range float values"),
            ({"name": "a\x00b"}, "holds U+0000, which is no letter; remove it"),
            ({"name": "a\nb"}, "is no label; use one line of at most 200 letters"),
            ({"name": "a" * 201}, "is no label; use one line of at most 200 letters"),
            ({"description": "a" * 100_001}, "is 100001 characters long; use at most 100000"),
            ({"description": "\ud800"}, "holds U+D800, which is no letter; remove it"),
            ({"timeout_seconds": "1h30m5"}, 'timeout_seconds "1h30m5" is outside 1-3155760000'),
            ({"timeout_seconds": 10**5000}, "is outside 1-3155760000"),
            ({"circuit_breaker": 0}, "circuit_breaker 0 is no breaker"),
            ({"jitter": False}, "jitter False is no duration"),
            ({"payload": {"x": "a" * 1_000_001}}, "bytes long; use at most 1000000"),
            ({"only_between": "8-18"}, 'only_between "8-18" is no pair of times; write it as'),
            ({"not_on": ["blursday"]}, 'not_on "blursday" is no day; use a weekday, 0-7'),
            ({"circuit_breaker": 3}, "circuit_breaker 3 is no breaker; write {threshold: 3, reset"),
            ({"circuit_breaker": {"treshold": 3}}, "is no breaker"),
            ({"circuit_breaker": {"threshold": 0}}, "circuit_breaker.threshold 0 is outside 1-"),
            (
                {"circuit_breaker": {"reset_after": "x"}},
                '.reset_after "x" is no duration',
            ),
            ({"circuit_breaker": {"name": ""}}, 'circuit_breaker.name "" is no text'),
            ({"preset": "cron"}, 'preset "cron" is unknown; use ductile, pipelit, horsies, posix'),
            ({"preset": 7}, "preset 7 is unknown"),
            (
                {"max_retrys": 3},
                "is no field of a schedule; did you mean max_retries?",
            ),
            ({"xyzzy": 3}, "xyzzy 3 is no field of a schedule; see docs/policies.md"),
        ],
    )
    def test_a_wrong_value_is_told_with_field_value_reason_and_remedy(
        self, fields: dict[str, Any], problem: str
    ):
        (found,) = problems(every="5m", **fields)

        assert problem in found

    def test_all_problems_are_told_at_once(self):
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

    @pytest.mark.parametrize("value", [[], {}, (), object(), 10**400, float("inf"), b"x", "\x00"])
    @pytest.mark.parametrize("field", sorted(FIELDS - {"tags", "not_on", "opts", "args", "kwargs"}))
    def test_a_value_of_any_other_kind_is_refused_and_nothing_else_happens(
        self, field: str, value: Any
    ):
        fields = {"every": "5m", "task": "work", field: value}
        as_good_as_a_default = {("payload", "{}"), ("circuit_breaker", "{}")}
        if (field, str(value)) in as_good_as_a_default:
            assert read_specification(fields, key="k", now=NOW).recurrence == Every("5m")
        else:
            with pytest.raises(InvalidSpecification):
                read_specification(fields, key="k", now=NOW)

    @pytest.mark.parametrize("field", ["payload", "kwargs", "http"])
    @pytest.mark.parametrize("depth", [101, 450, 600, 990, 5000])
    def test_what_is_nested_too_deeply_is_refused_however_deep(self, field: str, depth: int):
        value: Any = 1
        for _ in range(depth):
            value = {"a": value} if depth % 2 else {"a": [value]}
        fields = {"every": "5m", field: value} | ({} if field == "http" else {"task": "t"})

        with pytest.raises(InvalidSpecification, match="is nested too deeply; use at most 100"):
            read_specification(fields, key="k", now=NOW)

    def test_what_holds_itself_or_the_same_thing_without_end_is_refused(self):
        itself: dict[str, Any] = {}
        itself["again"] = itself
        doubled: list[Any] = [1]
        for _ in range(60):
            doubled = [doubled, doubled]
        for value in (itself, {"doubled": doubled}):
            with pytest.raises(InvalidSpecification, match="is nested too deeply"):
                specification(every="5m", payload=value)

    def test_a_hundred_levels_are_enough_for_anyone(self):
        value: Any = 1
        for _ in range(100):
            value = {"a": value}

        assert specification(every="5m", payload=value).payload == value


class TestCombinations:
    @pytest.mark.parametrize(
        ("fields", "problem"),
        [
            (
                {"execution": "at_most_once", "max_retries": 3},
                'execution "at_most_once" does not go with max_retries 3; set max_retries to 0',
            ),
            (
                {"execution": "at_most_once", "max_retries": "endless"},
                "does not go with max_retries endless",
            ),
            (
                {"delete_after_run": True},
                "delete_after_run True does not go with every 5 minutes; use it with at or after",
            ),
            (
                {"first_run": "match"},
                'first_run "match" does not go with every 5 minutes; use match with cron',
            ),
            (
                {"every": None, "at": "2026-12-01T00:00:00Z", "first_run": "now"},
                'first_run "now" does not go with once at 2026-12-01T00:00:00Z',
            ),
            (
                {"max_outstanding_polls": 2},
                "max_outstanding_polls 2 needs a plugin's command poll; leave it out",
            ),
            (
                {"every": None, "cron": "0 3 * * *", "only_between": "08:00-18:00"},
                "admits no slot of every day at 03:00; widen it, or use on_constraint: defer",
            ),
            (
                {"every": None, "at": "2026-12-01T00:00:00Z", "only_between": "08:00-18:00"},
                "window {'only_between': '08:00-18:00'} admits no slot of once at 2026-12-01",
            ),
            (
                {"every": None, "cron": "0 9 * * 6", "not_on": ["saturday"]},
                "window {'not_on': ['saturday']} admits no slot",
            ),
            (
                {"every": "24h", "only_between": "09:00-10:00"},
                "admits no slot of every 24 hours",
            ),
            (
                {"every": None, "after": "1h", "only_between": "12:00-13:00"},
                "admits no slot of once, 1h from its start",
            ),
        ],
    )
    def test_what_cannot_be_together_is_refused(self, fields: dict[str, Any], problem: str):
        (found,) = problems(**({"every": "5m"} | fields))

        assert problem in found

    @pytest.mark.parametrize(
        "fields",
        [
            {"execution": "at_most_once"},
            {"every": None, "at": "2020-01-01T00:00:00Z", "delete_after_run": True},
            {"every": None, "cron": "0 9 * * *", "first_run": "match"},
            {"every": None, "daily": {"time": "09:00"}, "first_run": "match"},
            {"plugin": "echo", "max_outstanding_polls": 2},
            {"max_outstanding_polls": 0},
            {"every": None, "cron": "0 3 * * *", "only_between": "08:00-18:00"}
            | {"on_constraint": "defer"},
            {"every": None, "cron": "0 3 * * *", "only_between": "03:00-03:01"},
            {"every": "24h", "only_between": "08:00-08:01"},
            {"every": "5m", "anchor": "completion", "only_between": "22:00-23:00"},
            {"every": "5m", "end_at": "2020-01-01T00:00:00Z", "only_between": "22:00-23:00"},
            {"every": None, "after": "1h", "only_between": "09:00-10:00"},
        ],
    )
    def test_what_can_be_is_not(self, fields: dict[str, Any]):
        assert specification(**({"every": "5m"} | fields))

    def test_repeats_that_a_one_shot_cannot_have_are_refused_only_if_it_said_so(self):
        (problem,) = problems(after="5m", total_repeats=3)
        assert problem.startswith("total_repeats 3 does not go with once, 5m from its start; leave")
        by_default = read_specification(
            {"task": "t", "after": "5m"}, key="k", now=NOW, defaults={"total_repeats": 3}
        )
        assert by_default.total_repeats == 0

    @pytest.mark.fault("F52")
    def test_a_command_takes_no_payload_that_no_program_can_be_started_with(self):
        most = {"x": "a" * 130_991}
        more = {"x": "a" * 130_992}
        (problem,) = problems(command=["true"], every="5m", payload=more)

        assert "is 131001 bytes as JSON, and a command can take at most 131000; put it" in problem
        assert specification(command=["true"], every="5m", payload=most).payload == most
        assert specification(task="t", every="5m", payload=more).payload == more

    def test_what_is_stored_was_judged_when_it_was_new(self):
        stored = specification(after="17m", only_between="08:00-09:00").to_json()

        assert read_specification(stored, key="k", now=None).once
        with pytest.raises(InvalidSpecification, match="admits no slot"):
            read_specification(stored, key="k", now=at("12:00"))

    def test_the_number_of_retries_may_come_from_a_preset(self):
        (problem,) = problems(workflow_id=1, every="5m", execution="at_most_once")

        assert "does not go with max_retries 3" in problem


class TestPresets:
    """The tables of the presets, as they come out."""

    @pytest.mark.parametrize(
        ("fields", "preset"),
        [
            ({"plugin": "echo"}, "ductile"),
            ({"workflow_id": 1}, "pipelit"),
            ({"prompt": "hi"}, "agent"),
            ({"task": "t"}, None),
            ({"command": ["ls"]}, None),
        ],
    )
    def test_unset_it_follows_the_target(self, fields: dict[str, Any], preset: str | None):
        said = specification(every="5m", **fields).to_json()
        meant = {**GENERAL, **(PRESETS[preset] if preset else {})}

        assert said["catch_up"] == meant["catch_up"]
        assert said["max_retries"] == meant["max_retries"]
        assert said["anchor"] == meant["anchor"]
        assert said["max_consecutive_errors"] == meant["max_consecutive_errors"]

    @pytest.mark.parametrize(
        ("preset", "expected"),
        [
            (
                "ductile",
                "skip skip 0 exponential continue slot False 3/30m 0 1m after once slot",
            ),
            (
                "pipelit",
                "run_once skip 3 exponential dead completion False off 0 10m after once slot",
            ),
            (
                "horsies",
                "run_once allow 0 exponential continue slot False off 0 none skip once slot",
            ),
            (
                "posix",
                "run_once skip endless fixed continue slot True off 0 none skip twice slot",
            ),
            (
                "agent",
                "run_once skip 0 exponential continue slot False off 10 10m after once slot",
            ),
            (
                None,
                "run_once skip 0 exponential continue slot False off 0 10m after once slot",
            ),
        ],
    )
    def test_each_has_its_own_defaults(self, preset: str | None, expected: str):
        said = specification(every="5m", preset=preset, timezone="UTC").to_json()
        breaker = said["circuit_breaker"]
        row = [
            said["catch_up"],
            said["if_running"],
            said["max_retries"],
            said["retry_backoff"],
            said["on_exhausted"],
            said["anchor"],
            said["slot_preempts_retry"],
            breaker if breaker == "off" else f"{breaker['threshold']}/{breaker['reset_after']}",
            said["max_consecutive_errors"],
            said["timeout"],
            said["dst_gap"],
            said["dst_fold"],
            said["first_run"],
        ]

        assert " ".join(str(each) for each in row) == expected

    @pytest.mark.mission("V7")
    def test_posix_is_strict_local_and_matches_at_the_first_start(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("TZ", "Europe/Berlin")
        said = specification(cron="0 9 * * 1-5", preset="posix").to_json()

        assert (said["timezone"], said["dialect"]) == ("Europe/Berlin", "posix")
        assert (said["dst_gap"], said["dst_fold"]) == ("skip", "twice")
        assert said["first_run"] == "match"
        assert problems(cron="*/5 * * * *", preset="posix", timezone="UTC")

    @pytest.mark.mission("E8")
    def test_as_a_setting_they_say_more(self):
        assert AS_A_SETTING["agent"]["limits"] == Limits(1000, 5, 5, 5000, 60_000, 10)
        assert AS_A_SETTING["horsies"]["limits"].timer_clamp_ms == 1000
        assert AS_A_SETTING["posix"]["declared_only"] is True

    def test_what_is_nearer_wins(self):
        def retries(own: dict[str, Any], **service: Any) -> object:
            said = read_specification(
                {"workflow_id": 1, "every": "5m"} | own, key="k", now=NOW, **service
            )
            return said.to_json()["max_retries"]

        assert retries({}) == 3
        assert retries({}, preset="agent") == 3, "the kind of the target is nearer than the service"
        assert retries({}, preset="agent", defaults={"max_retries": 7}) == 7
        assert retries({"preset": "posix", "timezone": "UTC"}, preset="agent") == "endless"
        assert retries({"max_retries": 1}, preset="agent", defaults={"max_retries": 7}) == 1
        assert retries({"max_retries": None}, defaults={"max_retries": 7}) == 7

    @pytest.mark.mission("D10", "P6", "E8")
    @pytest.mark.parametrize("service", [None, *PRESETS])
    def test_schedules_of_several_seeds_live_beside_each_other_whatever_the_service_has(
        self, service: str | None
    ):
        limits = Limits(max_consecutive_errors=3)

        def said(**own: Any) -> list[object]:
            fields = {"every": "5m", "timezone": "UTC"} | own
            read = read_specification(fields, key="k", now=NOW, preset=service, limits=limits)
            names = ("catch_up", "if_running", "max_retries", "max_consecutive_errors")
            return [read.preset, *(read.to_json()[name] for name in names)]

        assert said(plugin="echo") == ["ductile", "skip", "skip", 0, 0]
        assert said(workflow_id=1) == ["pipelit", "run_once", "skip", 3, 0]
        assert said(prompt="hi") == ["agent", "run_once", "skip", 0, 3]
        assert said(task="t", preset="horsies") == ["horsies", "run_once", "allow", 0, 0]
        assert said(plugin="echo", preset="posix") == ["posix", "run_once", "skip", "endless", 0]
        assert said(workflow_id=1, preset="agent") == ["agent", "run_once", "skip", 0, 3]
        table = {**GENERAL, **(PRESETS[service] if service else {})}
        for other in ({"task": "t"}, {"command": ["ls"]}):
            own = [table[name] for name in ("catch_up", "if_running", "max_retries")]
            assert said(**other) == [service, *own, 3], "the preset of the service is for these"

    @pytest.mark.mission("E8")
    def test_the_limit_of_errors_is_a_default_for_schedules(self):
        limits = Limits(max_consecutive_errors=7)

        def errors(**own: Any) -> int:
            fields = {"task": "t", "every": "5m"} | own
            said = read_specification(fields, key="k", now=NOW, limits=limits)
            return said.max_consecutive_errors

        assert errors() == 7
        assert errors(prompt="hi", task=None) == 7
        assert errors(max_consecutive_errors=2) == 2

    @pytest.mark.parametrize(
        ("defaults", "problem"),
        [
            ({"max_retrys": 3}, "max_retrys 3 is no field of a schedule; did you mean max_retries"),
            (["max_retries"], "defaults .* is no mapping"),
            ({"timeout_seconds": 0}, "timeout_seconds 0 is outside"),
            ({"task": "t"}, 'defaults.task "t" is each schedule\'s own; say it there'),
            ({"every": "5m"}, "defaults.every"),
            ({"preset": "posix"}, "defaults.preset"),
        ],
    )
    def test_the_defaults_of_the_service_are_checked_too(self, defaults: Any, problem: str):
        with pytest.raises(InvalidSpecification, match=problem):
            read_specification({"task": "t", "every": "5m"}, key="k", now=NOW, defaults=defaults)

    def test_what_the_service_leaves_null_is_as_good_as_nothing(self):
        said = read_specification(
            {"task": "t", "every": "5m"}, key="k", now=NOW, defaults={"max_retries": None}
        )

        assert said.retry.retries_max == 0

    def test_a_wrong_default_of_the_service_is_told_too(self):
        with pytest.raises(InvalidSpecification, match="max_retries"):
            read_specification(
                {"task": "t", "every": "5m"}, key="k", now=NOW, defaults={"max_retries": -1}
            )


class TestForm:
    def test_the_json_form_is_known_and_no_version_may_change_it(self):
        said = specification(
            cron="0 3 * * *",
            timezone="Europe/Berlin",
            command=["pg_dump", "app"],
            timeout="2h",
            only_between="00:00-06:00",
            not_on=[0, "2026-12-24"],
            jitter="30s",
            circuit_breaker={"threshold": 5, "reset_after": "10m", "name": "db"},
            max_retries="endless",
            tags=["nightly"],
            payload={"n": 1},
            name="Backup",
        )

        assert json.loads(json.dumps(said.to_json())) == {
            "cron": "0 3 * * *",
            "dialect": "standard",
            "timezone": "Europe/Berlin",
            "dst_gap": "after",
            "dst_fold": "once",
            "only_between": "00:00-06:00",
            "not_on": ["sunday", "2026-12-24"],
            "on_constraint": "drop",
            "command": ["pg_dump", "app"],
            "payload": {"n": 1},
            "name": "Backup",
            "description": None,
            "tags": ["nightly"],
            "jitter": "30s",
            "catch_up": "run_once",
            "grace": "1m",
            "catch_up_window": None,
            "max_catch_up_runs": 100,
            "if_running": "skip",
            "queue_limit": 1000,
            "max_retries": "endless",
            "retry_delay": None,
            "retry_backoff": "exponential",
            "slot_preempts_retry": False,
            "on_exhausted": "continue",
            "circuit_breaker": {"threshold": 5, "reset_after": "10m", "name": "db"},
            "max_outstanding_polls": 0,
            "max_consecutive_errors": 0,
            "total_repeats": 0,
            "timeout": "2h",
            "execution": "at_least_once",
            "first_run": "slot",
            "delete_after_run": False,
            "enabled": True,
            "priority": 0,
            "queue": "default",
        }
        assert said.configuration_hash == "e88a14f8f164001cc0db196a0c2ddfc0"

    def test_a_stored_dialect_withstands_the_preset_of_whoever_reads_it(self):
        stored = specification(cron="*/5 * * * *").to_json()

        again = read_specification(stored, key="k", now=NOW, preset="posix")
        assert again.recurrence == Cron("*/5 * * * *", timezone="UTC", dst_gap="after")

    def test_a_breaker_has_defaults_of_its_own(self):
        breaker = specification(every="5m", circuit_breaker={}).breaker

        assert breaker == (3, 30 * MINUTE, None)
        assert specification(plugin="p", every="5m", circuit_breaker=False).breaker is None

    def test_what_is_locked_is_its_scope_and_its_gate(self):
        named = {"circuit_breaker": {"name": "mail"}}
        assert specification(every="5m").lock_keys(7) == ()
        assert specification(every="5m", **named).lock_keys(7) == ("mail",)
        assert specification(every="5m", circuit_breaker={}).lock_keys(7) == ("schedule/7",)
        assert specification(plugin="echo", every="5m").lock_keys(7) == ("echo/poll",)
        assert specification(plugin="echo", every="5m", **named).lock_keys(7) == (
            "echo/poll",
            "mail",
        )

    def test_every_field_says_what_it_means(self):
        said = specification(
            every="1d", grace="90s", catch_up_window="2h", retry_delay="5m", timeout="none"
        )

        assert said.catch_up.grace == 90 * SECOND
        assert said.catch_up.window == 2 * HOUR
        assert said.retry.delay == 5 * MINUTE
        assert said.timeout is None
        assert specification(every="1d").retry.delay == DAY
        assert specification(every="1d", timeout_seconds=90).timeout == 90 * SECOND
        assert specification(every="1d", trigger_payload={"a": 1}).payload == {"a": 1}

    @pytest.mark.mission("P11")
    def test_repeat_count_and_retry_max_are_taken_for_total_repeats_and_max_retries(self):
        said = specification(every="5m", workflow_id=1, repeat_count=3, retry_max=7)

        assert (said.total_repeats, said.retry.retries_max) == (3, 7)


@given(
    fields=st.fixed_dictionaries(
        {
            "every": st.sampled_from(["5m", "1d", "monthly"]),
        },
        optional={
            "plugin": st.just("echo"),
            "catch_up": st.sampled_from(["run_all", "skip"]),
            "grace": st.sampled_from(["10s", "1h30m"]),
            "catch_up_window": st.just("2h"),
            "max_retries": st.sampled_from([0, 4, "endless"]),
            "timeout": st.sampled_from(["none", "90s"]),
            "retry_delay": st.sampled_from(["5m", "90s"]),
            "timezone": st.sampled_from(["UTC", "Asia/Tokyo"]),
            "only_between": st.just("00:00-23:00"),
            "jitter": st.sampled_from([0, "10s"]),
            "circuit_breaker": st.sampled_from([{}, "off", {"name": "x"}]),
            "anchor": st.just("completion"),
            "payload": st.dictionaries(st.text(letters), st.integers()),
        },
    )
)
def test_what_is_written_reads_back_as_the_same(fields: dict[str, Any]):
    once = specification(**fields)

    again = read_specification(json.loads(json.dumps(once.to_json())), key="other", now=NOW)

    assert again == once
    assert again.configuration_hash == once.configuration_hash
