"""The package itself: light to import, and honest about its names."""

from __future__ import annotations

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


def test_a_value_is_shown_escaped_and_short():
    assert shown("a\nb") == r"'a\nb'"
    assert shown("x" * 100) == '"' + "x" * 76 + "..."
    assert shown("x" * 78) == '"' + "x" * 78 + '"'
    assert shown(5) == "5"
