"""Two processes write and checkpoint at the same time, many times; afterwards the file must be
intact and contain every acknowledged row. `make wal` does so a million times."""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import apsw

from quarterjack.store.sqlite.file import open_database

MODES = [
    apsw.SQLITE_CHECKPOINT_PASSIVE,
    apsw.SQLITE_CHECKPOINT_RESTART,
    apsw.SQLITE_CHECKPOINT_TRUNCATE,
]
ROUND = 50_000
WRITERS = 2


def write(path: Path, writer: int, count: int, seed: int) -> None:
    """One of the two processes: after each row it tries to checkpoint. Prints how many rows were
    acknowledged."""
    random = Random(seed * WRITERS + writer)
    connection = open_database(path, now=0)
    connection.pragma(
        "synchronous", "off"
    )  # a million syncs take a day, and this test cuts no power
    statement = "insert into metadata values (?, ?)"
    for number in range(count):
        connection.execute(statement, (f"{writer}-{number}", "x" * random.randrange(200)))
        with contextlib.suppress(apsw.BusyError):
            connection.wal_checkpoint(mode=random.choice(MODES))
    connection.close()
    print(count)


def pairs_at_once(folder: Path, pairs: int, seed: int) -> int:
    """Run both processes and check the result; how many rows were acknowledged."""
    path = folder / "q.db"
    open_database(path, now=0, create=True).close()
    program = [sys.executable, "-m", "harness.store.wal", "--path", str(path), "--seed", str(seed)]
    program += ["--pairs", str(pairs // WRITERS)]
    writers = [
        subprocess.Popen(
            [*program, "--writer", str(number)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        for number in range(WRITERS)
    ]
    counts = [int(writer.communicate()[0]) for writer in writers]
    check(path, counts)
    return sum(counts)


def check(path: Path, counts: list[int]) -> None:
    connection = open_database(path, now=0)
    assert connection.pragma("integrity_check") == "ok", path
    found = {str(row[0]) for row in connection.execute("select name from metadata")}
    connection.close()
    acknowledged = {
        f"{writer}-{number}" for writer, count in enumerate(counts) for number in range(count)
    }
    assert acknowledged <= found, f"acknowledged and lost: {sorted(acknowledged - found)[:5]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--writer", type=int)
    options = parser.parse_args()
    if options.path is not None:
        write(options.path, options.writer, options.pairs, options.seed)
        return
    begun, done = time.monotonic(), 0
    while done < options.pairs:
        with tempfile.TemporaryDirectory() as folder:
            done += pairs_at_once(Path(folder), min(ROUND, options.pairs), options.seed + done)
        print(f"{done} pairs in {time.monotonic() - begun:.0f} s, no row is missing", flush=True)


if __name__ == "__main__":
    main()
