"""Runs the tests with each Python that is installed: `python -m harness.acceptance.pythons`.

Each has an environment of its own with the locked packages, which is kept until the lock changes.
The tests that kill processes and the simulations are left out: they take longest, and the version
of Python matters least to them.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from harness.acceptance.wheel import ROOT, pythons, version_of

LOCK = ROOT / "requirements.lock"
ENVIRONMENTS = ROOT / ".venv-pythons"
PIP = ("-m", "pip", "install", "-qq", "--disable-pip-version-check")


def environment(python: str) -> Path:
    """The interpreter of an environment with the locked packages, verified by hash, and this
    project."""
    folder = ENVIRONMENTS / version_of(python)
    interpreter, ready = folder / "bin" / "python", folder / "ready"
    lock = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not ready.exists() or ready.read_text() != lock:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        locked = ("--require-hashes", "-r", str(LOCK))
        subprocess.run([str(interpreter), *PIP, *locked], check=True)
        ready.write_text(lock)
    project = ("--no-deps", "--no-build-isolation", "-e", str(ROOT))
    subprocess.run([str(interpreter), *PIP, *project], check=True)
    return interpreter


def run_tests(python: str, tests: list[str]) -> str:
    """The last lines of pytest; exits if tests have failed."""
    command = [str(environment(python)), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    parallel = ("-n", "2", "--dist", "worksteal", "-m", "not unmeasured", "--ignore", "tests/tidy")
    # The examples of a document build on each other, so documents are not divided.
    parts = [[*parallel, *tests]] if tests else [["docs", "README.md"], [*parallel, "tests"]]
    summaries = []
    for part in parts:
        done = subprocess.run(
            [*command, *part], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{done.stdout}\nthe tests fail with Python {version_of(python)}")
        summaries.append(done.stdout.splitlines()[-1])
    return "; ".join(summaries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="files or folders; without any, all")
    parser.add_argument("--only", default="", help="the versions that begin so, such as 3.13")
    options = parser.parse_args()
    for python in pythons():
        version = version_of(python)
        if version.startswith(options.only):
            print(f"Python {version}: {run_tests(python, options.tests)}", flush=True)


if __name__ == "__main__":
    main()
