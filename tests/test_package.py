"""The package: what it imports and exports, and its exceptions."""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys

import pytest

import quarterjack
from quarterjack.errors import Invalid, InvalidRecurrence, Problem, Problems, quote


def modules_loaded_by(statement: str) -> set[str]:
    """By this statement alone, in a new interpreter."""
    program = (
        f"import sys; before = set(sys.modules); {statement}; print(*set(sys.modules) - before)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_importing_the_package_loads_none_of_its_modules():
    loaded = modules_loaded_by("import quarterjack")

    assert {name for name in loaded if name.startswith("quarterjack")} == {"quarterjack"}
    assert not loaded & {"dataclasses", "asyncio"}
    top_level = {name.partition(".")[0] for name in loaded}
    assert top_level - sys.stdlib_module_names == {"quarterjack"}, "nothing of a third party"


def test_importing_the_package_takes_little_more_than_starting_python():
    """At most three times the CPU; the least of a few runs, because others disturb them."""
    started, imported = (
        min(cpu_seconds_of(statement) for _ in range(5))
        for statement in ("pass", "import quarterjack")
    )

    assert imported < 3 * started


def cpu_seconds_of(statement: str) -> float:
    """In a new interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_importing_a_recurrence_loads_neither_cli_nor_asyncio():
    loaded = modules_loaded_by("from quarterjack import Cron")

    assert not loaded & {"click", "rich", "json", "asyncio", "zoneinfo", "importlib.resources"}


def test_windows_is_refused_with_advice():
    program = "import sys; sys.platform = 'win32'; import quarterjack.__main__"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "ImportError: Quarterjack does not run on Windows; "
        "use it in WSL 2 (`wsl --install`) or in a Linux container"
    )


def test_every_public_name_can_be_imported():
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


def test_problems_collects_invalid_input_and_lets_other_errors_through():
    problems = Problems()
    with problems:
        raise Invalid.because("a", 1, "is wrong", "fix it")
    with problems:
        pass
    with pytest.raises(KeyError), problems:
        raise KeyError

    assert [str(problem) for problem in problems.found] == ["a 1 is wrong; fix it"]
    with pytest.raises(InvalidRecurrence, match="it: a 1 is wrong; fix it"):
        problems.raise_if_any("it")
    Problems().raise_if_any("it")


def test_an_error_can_be_pickled():
    error = InvalidRecurrence("it", [Problem("hour", "25", "is outside 0-23", "use 0-23")])

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is InvalidRecurrence
    assert (str(copy), copy.problems) == (str(error), error.problems)


def test_a_message_lists_the_first_20_problems_and_counts_the_rest():
    many = InvalidRecurrence("it", [Problem("a", str(n), "is wrong", "fix it") for n in range(99)])

    assert len(str(many).splitlines()) == 22
    assert str(many).startswith("it: 99 problems\n  - a 0 is wrong")
    assert str(many).endswith("\n  and 79 more")
    assert len(many.problems) == 99


def test_quote_falls_back_to_the_type_of_a_value():
    endless: list[object] = []
    for _ in range(100_000):
        endless = [endless]

    assert quote(10**5000) == "a value of type int"
    assert len(quote(endless)) <= 80
    assert len(quote({n: n for n in range(100_000)})) <= 80


def test_times_is_an_attribute_of_the_package():
    program = "import quarterjack; print(quarterjack.times.parse('5m').describe())"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert result.stdout == "every 5 minutes\n"


def test_quote_escapes_and_truncates():
    assert quote("a\nb") == r"'a\nb'"
    assert quote("x" * 100) == '"' + "x" * 76 + "..."
    assert quote("x" * 78) == '"' + "x" * 78 + '"'
    assert quote(5) == "5"
