"""Mutation score of the pure parts: how many small changes to the code do the tests notice?

Each part is changed in a copy of its own, and judged by its own tests alone. Survivors are listed.
Those proven to change nothing stand in `equivalent_mutants.toml`, each with its reason, and leave
the count.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
MUTMUT = str(Path(sys.executable).with_name("mutmut"))
SCORE_MIN = 90.0
NOT_FOR_MUTANTS = {
    "times": "seeded_sample or hostile or every_zone or decades or known_fault",
    "rules": "year_asleep or any_other_kind",
}
"""Tests that take long and find little, by part."""


@dataclass(frozen=True)
class Mutant:
    """One small change: in which function, and the line as it became."""

    key: str
    survived: bool
    place: Path

    @property
    def module(self) -> str:
        part, module = self.key.split(".")[1:3]
        return module if part == "times" else f"{part}.{module}"

    @property
    def function(self) -> str:
        name = self.key.split(".", 3)[3].partition("__mutmut_")[0]
        plain = name.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
        return f"{self.module}.{plain}"

    def lines(self) -> tuple[str, str]:
        shown = subprocess.run(
            [MUTMUT, "show", self.key], cwd=self.place, capture_output=True, text=True, check=True
        ).stdout
        found = {sign: re.search(rf"^\{sign} (.*)", shown, re.MULTILINE) for sign in "-+"}
        before, after = (found[sign] for sign in "-+")
        return before[1].strip() if before else "", after[1].strip() if after else ""


def workshop(part: str, place: Path) -> None:
    """A copy of the project in which mutmut changes only this part, and runs only its tests."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in tracked:
        copy = place / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy)
    selection = [f"tests/{part}", "-k", f"not ({NOT_FOR_MUTANTS[part]})"]
    with (place / "pyproject.toml").open("a") as settings:
        settings.write(
            "[tool.mutmut]\n"
            'source_paths = ["src"]\n'
            f'only_mutate = ["src/quarterjack/{part}/*"]\n'
            'also_copy = ["conftest.py", "docs"]\n'
            "timeout_multiplier = 3\n"
            'pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:xdist"]\n'
            f"pytest_add_cli_args_test_selection = {json.dumps(selection)}\n"
        )


def mutants(part: str, place: Path) -> list[Mutant]:
    """Every mutant of the part, after its tests have run."""
    workshop(part, place)
    done = subprocess.run(
        [MUTMUT, "run", "--max-children", "2"],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"mutmut could not run the tests:\n{done.stdout[-3000:]}")
    return [
        Mutant(key, survived=code == 0, place=place)
        for meta in sorted((place / "mutants" / "src").rglob("*.meta"))
        for key, code in json.loads(meta.read_text())["exit_code_by_key"].items()
    ]


def known_equivalents() -> set[tuple[str, str]]:
    """(function, line as it became); the line `*` stands for all of a function's."""
    listed = tomllib.loads((ROOT / "tests" / "equivalent_mutants.toml").read_text())
    return {(entry["function"], line) for entry in listed["equivalent"] for line in entry["lines"]}


def judge(part: str, place: Path) -> float:
    """Survivors, a table by module, and the score."""
    equivalents = known_equivalents()
    made, survived, left_out = Counter[str](), Counter[str](), Counter[str]()
    for mutant in mutants(part, place):
        made[mutant.module] += 1
        if (mutant.function, "*") in equivalents:
            left_out[mutant.module] += 1
        elif mutant.survived:
            before, after = mutant.lines()
            if (mutant.function, after) in equivalents:
                left_out[mutant.module] += 1
            else:
                survived[mutant.module] += 1
                print(f"survived: {mutant.function}\n    - {before}\n    + {after}")
    print(f"\n{'module':<24}{'mutants':>9}{'equivalent':>12}{'survived':>10}{'score':>9}")
    score = 100.0
    for module in [*sorted(made), part]:
        counts = [sum(c.values()) if module == part else c[module]
                  for c in (made, left_out, survived)]  # fmt: skip
        counted = counts[0] - counts[1]
        score = 100 * (counted - counts[2]) / counted if counted else 100.0
        print(f"{module:<24}{counts[0]:>9}{counts[1]:>12}{counts[2]:>10}{score:>8.1f}%")
    return score


def main() -> None:
    parts = sys.argv[1:] or list(NOT_FOR_MUTANTS)
    for part in parts:
        print(f"changing {part}/ in some thousand small ways; this takes a quarter of an hour")
        with TemporaryDirectory(prefix="mutants-") as place:
            score = judge(part, Path(place))
        if score < SCORE_MIN:
            sys.exit(f"the score of {part}/ is below {SCORE_MIN:.0f} %")


if __name__ == "__main__":
    main()
