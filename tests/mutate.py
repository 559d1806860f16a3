"""Mutation score of the pure packages: how many small changes to the code do their tests notice?

Each package is mutated in a copy of the project and tested by its own tests alone. Surviving
mutants are listed. Those proven to be equivalent are in `equivalent_mutants.toml`, with the reason,
and do not count.
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
SKIPPED_TESTS = {
    "times": "seeded_sample or hostile or every_zone or decades",
    "rules": "outage_of_a_year or any_other_type",
}
"""Slow tests that find few mutants, by package: an expression for `pytest -k`."""


@dataclass(frozen=True)
class Mutant:
    key: str
    survived: bool
    project: Path

    @property
    def module(self) -> str:
        part, *_, module = self.key.split(".")[1:-1]
        return module if part == "times" else f"{part}.{module}"

    @property
    def function(self) -> str:
        name = self.key.rpartition(".")[2].partition("__mutmut_")[0]
        plain = name.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
        return f"{self.module}.{plain}"

    def lines(self) -> tuple[str, str]:
        """The changed line before and after."""
        diff = subprocess.run(
            [MUTMUT, "show", self.key], cwd=self.project, capture_output=True, text=True, check=True
        ).stdout
        found = {sign: re.search(rf"^\{sign} (.*)", diff, re.MULTILINE) for sign in "-+"}
        before, after = (found[sign] for sign in "-+")
        return before[1].strip() if before else "", after[1].strip() if after else ""


def copy_project(part: str, project: Path) -> None:
    """Configured so that mutmut changes only this package and runs only its tests."""
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in tracked:
        copy = project / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy)
    selection = [f"tests/{part}", "-k", f"not ({SKIPPED_TESTS[part]})"]
    with (project / "pyproject.toml").open("a") as settings:
        settings.write(
            "[tool.mutmut]\n"
            'source_paths = ["src"]\n'
            f'only_mutate = ["src/quarterjack/{part}/*"]\n'
            'also_copy = ["conftest.py", "docs"]\n'
            "timeout_multiplier = 3\n"
            'pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:xdist"]\n'
            f"pytest_add_cli_args_test_selection = {json.dumps(selection)}\n"
        )


def mutants(part: str, project: Path) -> list[Mutant]:
    """Every mutant of the package, after its tests have run."""
    copy_project(part, project)
    result = subprocess.run(
        [MUTMUT, "run", "--max-children", "2"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        sys.exit(f"mutmut could not run the tests:\n{result.stdout[-3000:]}")
    return [
        Mutant(key, survived=code == 0, project=project)
        for meta in sorted((project / "mutants" / "src").rglob("*.meta"))
        for key, code in json.loads(meta.read_text())["exit_code_by_key"].items()
    ]


def known_equivalents() -> set[tuple[str, str]]:
    """(function, mutated line); the line `*` stands for all mutants of the function."""
    listed = tomllib.loads((ROOT / "tests" / "equivalent_mutants.toml").read_text())
    return {(entry["function"], line) for entry in listed["equivalent"] for line in entry["lines"]}


def score_of(part: str, project: Path) -> float:
    """Prints the survivors and a table by module, and returns the score."""
    equivalents = known_equivalents()
    total, survived, equivalent = Counter[str](), Counter[str](), Counter[str]()
    for mutant in mutants(part, project):
        total[mutant.module] += 1
        if (mutant.function, "*") in equivalents:
            equivalent[mutant.module] += 1
        elif mutant.survived:
            before, after = mutant.lines()
            if (mutant.function, after) in equivalents:
                equivalent[mutant.module] += 1
            else:
                survived[mutant.module] += 1
                print(f"survived: {mutant.function}\n    - {before}\n    + {after}")
    print(f"\n{'module':<24}{'mutants':>9}{'equivalent':>12}{'survived':>10}{'score':>9}")
    score = 100.0
    for module in [*sorted(total), part]:
        counts = [sum(c.values()) if module == part else c[module]
                  for c in (total, equivalent, survived)]  # fmt: skip
        counted = counts[0] - counts[1]
        score = 100 * (counted - counts[2]) / counted if counted else 100.0
        print(f"{module:<24}{counts[0]:>9}{counts[1]:>12}{counts[2]:>10}{score:>8.1f}%")
    return score


def main() -> None:
    parts = sys.argv[1:] or list(SKIPPED_TESTS)
    for part in parts:
        print(f"testing some thousand mutants of {part}/; this takes a quarter of an hour")
        with TemporaryDirectory(prefix="mutants-") as project:
            score = score_of(part, Path(project))
        if score < SCORE_MIN:
            sys.exit(f"the score of {part}/ is below {SCORE_MIN:.0f} %")


if __name__ == "__main__":
    main()
