"""The package itself: light to import, and honest about its names."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import quarterjack
from quarterjack.errors import Invalid, InvalidRecurrence, Problem, Problems, shown


def modules_loaded_by(statement: str) -> set[str]:
    """In a fresh interpreter, by nothing but this."""
    program = (
        f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_importing_the_package_loads_nothing_of_it():
    loaded = modules_loaded_by("import quarterjack")

    assert {name for name in loaded if name.startswith("quarterjack")} == {"quarterjack"}
    assert not loaded & {"click", "rich", "dataclasses", "asyncio", "tzdata"}


def test_the_recurrences_load_no_command_line():
    loaded = modules_loaded_by("from quarterjack import Cron")

    assert not loaded & {"click", "rich", "json", "asyncio", "zoneinfo", "importlib.resources"}


def test_every_public_name_is_there():
    for name in quarterjack.__all__:
        assert getattr(quarterjack, name) is not None
    assert set(dir(quarterjack)) == set(quarterjack.__all__)
    with pytest.raises(AttributeError, match="module 'quarterjack' has no attribute 'Croon'"):
        _ = quarterjack.Croon


def test_an_error_is_a_value_error_that_holds_its_problems():
    error = InvalidRecurrence.because("hour", "25", "is outside 0-23", "use 0-23")

    assert isinstance(error, ValueError)
    assert isinstance(error, quarterjack.QuarterjackError)
    assert error.problems == (Problem("hour", '"25"', "is outside 0-23", "use 0-23"),)


def test_problems_gathers_what_is_refused_and_lets_other_errors_through():
    problems = Problems()
    with problems:
        raise Invalid.because("a", 1, "is wrong", "mend it")
    with problems:
        pass
    with pytest.raises(KeyError), problems:
        raise KeyError

    assert [str(problem) for problem in problems.found] == ["a 1 is wrong; mend it"]
    with pytest.raises(InvalidRecurrence, match="it: a 1 is wrong; mend it"):
        problems.refuse_if_any("it")
    Problems().refuse_if_any("it")


def test_an_error_survives_the_way_from_another_process():
    error = InvalidRecurrence("it", [Problem("hour", "25", "is outside 0-23", "use 0-23")])

    again = pickle.loads(pickle.dumps(error))

    assert type(again) is InvalidRecurrence
    assert (str(again), again.problems) == (str(error), error.problems)


def test_of_very_many_problems_some_are_shown_and_the_rest_counted():
    many = InvalidRecurrence("it", [Problem("a", str(n), "is wrong", "mend it") for n in range(99)])

    assert len(str(many).splitlines()) == 22
    assert str(many).startswith("it: 99 problems\n  - a 0 is wrong")
    assert str(many).endswith("\n  and 79 more")
    assert len(many.problems) == 99


def test_what_cannot_be_shown_is_named_by_its_type():
    endless: list[object] = []
    for _ in range(100_000):
        endless = [endless]

    assert shown(10**5000) == "a value of type int"
    assert len(shown(endless)) <= 80
    assert len(shown({n: n for n in range(100_000)})) <= 80


def test_the_times_can_be_reached_from_the_package():
    program = "import quarterjack; print(quarterjack.times.parse('5m').describe())"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert result.stdout == "every 5 minutes\n"


def test_a_value_is_shown_escaped_and_short():
    assert shown("a\nb") == r"'a\nb'"
    assert shown("x" * 100) == '"' + "x" * 76 + "..."
    assert shown("x" * 78) == '"' + "x" * 78 + '"'
    assert shown(5) == "5"
