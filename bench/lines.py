"""Counts lines of product code per package: no blank lines, comments, docstrings or SQL files.

With a revision as argument, counts that commit instead of the working tree.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

NOT_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENCODING, tokenize.ENDMARKER,
}  # fmt: skip


def count_lines(source: str) -> int:
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for first, last in docstrings(source):
        lines.difference_update(range(first, last + 1))
    return len(lines)


def docstrings(source: str) -> Iterator[tuple[int, int]]:
    """First and last line of each string that is a statement, also below attributes."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.end_lineno or node.lineno


def sources(revision: str | None) -> Iterator[tuple[str, str]]:
    """Path and text of each Python file below `src`."""
    if revision is None:
        for path in sorted(Path("src").rglob("*.py")):
            yield str(path), path.read_text()
        return
    for name in git("ls-tree", "-r", "--name-only", revision, "src").split():
        if name.endswith(".py"):
            yield name, git("show", f"{revision}:{name}")


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def main() -> None:
    revision = sys.argv[1] if len(sys.argv) > 1 else None
    packages: Counter[str] = Counter()
    for name, source in sources(revision):
        packages[Path(name).parts[2]] += count_lines(source)
    for package, lines in packages.most_common():
        print(f"{lines:7,}  {package}")
    print(f"{packages.total():7,}  lines of product code")


if __name__ == "__main__":
    main()
