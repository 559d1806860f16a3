"""Compares what the engine costs before and after a change, in interleaved pairs.

Each pair runs the short form of `bench.engine` on a checkout of an earlier commit and on this tree.
Noise of the machine meets both alike, so the ratio of CPU seconds counts, and the statements.
Prints the median ratio with the 2nd and the second to last of the pairs (for 11 pairs, an interval
of at least 95 %).
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

_ROWS = ("due", "control")
_FIGURES = re.compile(r"^\d+ (\S+) Quarterjack: (.*)$", re.MULTILINE)


class Cost(NamedTuple):
    cpu_seconds: float
    """Of 10,000 runs that are due at once, with the server's share."""
    statements: float
    control_seconds: float
    """Wall time of 10,000 schedules added through control."""


def measure(checkout: Path, kind: str) -> Cost:
    command = [sys.executable, "-m", "bench.engine", "--on", kind, "--only", *_ROWS]
    command += ["--rounds", "1", "--long-rounds", "1", "--without-peers"]
    paths = f"{checkout}/src:{checkout}/tests:{checkout}"
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=True
    )
    found = {
        row: [float(each.replace(",", "")) for each in figures.split(", ")]
        for row, figures in _FIGURES.findall(done.stderr)
    }
    _, cpu, statements, *server = found["due"]
    return Cost(cpu + sum(server), statements, found["control"][0])


def interval(ratios: list[float]) -> str:
    ordered = sorted(ratios)
    edge = min(1, len(ordered) - 1)
    low, high = ordered[edge], ordered[-1 - edge]
    return f"{statistics.median(ordered):.3f} ({low:.3f} to {high:.3f})"


def compare(before: Path, after: Path, kind: str, pairs: int) -> None:
    costs = []
    for number in range(pairs):
        costs.append((measure(before, kind), measure(after, kind)))
        print(f"{kind} {number + 1}: {costs[-1]}", file=sys.stderr, flush=True)
    cpu = interval([new.cpu_seconds / old.cpu_seconds for old, new in costs])
    control = interval([new.control_seconds / old.control_seconds for old, new in costs])
    old, new = (statistics.median(pair[i].statements for pair in costs) for i in (0, 1))
    print(
        f"{kind}: CPU {cpu}; added through control, wall {control}; statements {old:g} -> {new:g}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", help="the commit to compare this tree with")
    parser.add_argument("--pairs", type=int, default=11)
    parser.add_argument("--on", nargs="+", default=["sqlite", "postgres"])
    options = parser.parse_args()
    with TemporaryDirectory(dir=".", prefix="bench-") as name:
        before = Path(name).absolute() / "before"
        git = ["git", "worktree"]
        subprocess.run([*git, "add", "-q", "--detach", before, options.before], check=True)
        try:
            for kind in options.on:
                compare(before, Path.cwd(), kind, options.pairs)
        finally:
            subprocess.run([*git, "remove", "--force", before], check=True)


if __name__ == "__main__":
    main()
