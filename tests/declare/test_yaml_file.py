"""YAML files: values, lines and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.declare.declarations import problems_of
from quarterjack.declare.yaml_file import read_yaml
from quarterjack.errors import InvalidSpecification


def test_times_dates_and_words_such_as_on_stay_text(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 12:30\nb: on\nc: 2026-12-24\nd: [1, 2.5, true, null]\ne: '7'\n")

    assert read_yaml(path).values == {
        "a": "12:30",
        "b": "on",
        "c": "2026-12-24",
        "d": [1, 2.5, True, None],
        "e": "7",
    }


def test_a_place_is_the_line_of_the_nearest_value_around_it(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\nb:\n  c: {d: 1}\n")

    document = read_yaml(path)

    assert document.place("b", "c") == f"{path}:3"
    assert document.place("b", "c", "x") == f"{path}:3"
    assert document.place("b", "x") == f"{path}:2"
    assert document.place("z") == f"{path}:1"


def test_the_location_of_a_file_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.yaml").write_text("a: 1\n")
    monkeypatch.chdir(tmp_path)

    document = read_yaml(Path("a.yaml"))

    assert (document.name, document.location) == ("a.yaml", str(tmp_path / "a.yaml"))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\na: 2\n", 'line 2 gives "a" a second time; remove one of them'),
        ("a: [1\nb: 2\n", "is not YAML"),
        (
            "a: 1\ncron: */5 * * * *\n",
            "line 2 has a * outside quotes; text that begins with * "
            'needs quotes, as in cron: "*/5 * * * *"',
        ),
        ("- a\n", "line 1 is not a mapping; write names and values, one to a line"),
        ("", "line 1 is empty; write `schedules: {}` if there are no schedules"),
        ("# nothing\n", "line 1 is empty"),
        ("a: !!python/object/apply:os.system [ls]\n", "has the tag"),
        ("a: !!int abc\n", "line 1 holds an invalid number; write it as text"),
        ("? [a]\n: 1\n", "line 1 has a key that is not text; use text"),
        ("a: " + "[" * 150 + "]" * 150, "is nested too deeply"),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, text: str, problem: str):
    message = problems_of(tmp_path, text)

    assert message.startswith(str(tmp_path / "q.yaml"))
    assert problem in message


def test_a_small_file_whose_aliases_make_it_very_large_is_refused(tmp_path: Path):
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
    )

    assert "holds too many values; use at most 1000000" in problems_of(tmp_path, bomb)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("none", "does not exist"), (".", "is not a file"), ("bytes", "cannot be read")],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, name: str, problem: str):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InvalidSpecification, match=problem):
        read_yaml(tmp_path / name)


def test_a_file_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("quarterjack.declare.yaml_file._BYTES_MAX", 3)

    assert "is too long; use at most 3 bytes" in problems_of(tmp_path, "a: 1\n")
