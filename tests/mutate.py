"""Mutation score of the pure parts: how many small changes to the code do the tests notice?

Survivors are listed. Those proven to change nothing stand in `equivalent_mutants.toml`, each with
its reason, and leave the count.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
MUTMUT = str(Path(sys.executable).with_name("mutmut"))
SCORE_MIN = 90.0


@dataclass(frozen=True)
class Mutant:
    """One small change: in which function, and the line as it became."""

    key: str
    survived: bool

    @property
    def module(self) -> str:
        return self.key.split(".")[2]

    @property
    def function(self) -> str:
        name = self.key.split(".", 3)[3].partition("__mutmut_")[0]
        plain = name.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
        return f"{self.module}.{plain}"

    def lines(self) -> tuple[str, str]:
        shown = subprocess.run(
            [MUTMUT, "show", self.key], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        found = {sign: re.search(rf"^\{sign} (.*)", shown, re.MULTILINE) for sign in "-+"}
        before, after = (found[sign] for sign in "-+")
        return before[1].strip() if before else "", after[1].strip() if after else ""


def mutants() -> list[Mutant]:
    return [
        Mutant(key, survived=code == 0)
        for meta in sorted((ROOT / "mutants" / "src").rglob("*.meta"))
        for key, code in json.loads(meta.read_text())["exit_code_by_key"].items()
    ]


def known_equivalents() -> set[tuple[str, str]]:
    """(function, line as it became); the line `*` stands for all of a function's."""
    listed = tomllib.loads((ROOT / "tests" / "equivalent_mutants.toml").read_text())
    return {(entry["function"], line) for entry in listed["equivalent"] for line in entry["lines"]}


def main() -> None:
    print("changing the code in some thousand small ways; this takes a quarter of an hour")
    subprocess.run(
        [MUTMUT, "run", "--max-children", "2"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    equivalents = known_equivalents()
    made, survived, left_out = Counter[str](), Counter[str](), Counter[str]()
    for mutant in mutants():
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
    print(f"\n{'module':<14}{'mutants':>9}{'equivalent':>12}{'survived':>10}{'score':>9}")
    for module in [*sorted(made), "all"]:
        counts = [sum(c.values()) if module == "all" else c[module]
                  for c in (made, left_out, survived)]  # fmt: skip
        counted = counts[0] - counts[1]
        score = 100 * (counted - counts[2]) / counted if counted else 100.0
        print(f"{module:<14}{counts[0]:>9}{counts[1]:>12}{counts[2]:>10}{score:>8.1f}%")
        if module == "all" and score < SCORE_MIN:
            sys.exit(f"the score is below {SCORE_MIN:.0f} %")


if __name__ == "__main__":
    main()
