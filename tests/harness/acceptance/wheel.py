"""Builds the wheel, installs it with plain pip into an empty environment outside the checkout, and
runs it there: `python -m harness.acceptance.wheel` does so for each Python that is installed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[3]
OLDEST = 11
"""The minor version of the oldest Python that is supported."""
CONFIGURATION = "schedules: {echo: {every: 1h, first_run: now, command: [echo, hello]}}\n"
PROGRAM = """\
from quarterjack import Quarterjack

app = Quarterjack()


@app.every("1h", first_run="now")
async def hello() -> None: ...


app.run()
"""
SECONDS = 60
DONE = "installed; the README's program, quarterjack up and python -m quarterjack run"


def build(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(ROOT)], check=True, cwd=folder)
    (wheel,) = folder.glob("quarterjack-*.whl")
    return wheel


def missing_files(wheel: Path) -> list[str]:
    """Files of the package in the checkout that the wheel does not have."""
    packed = _names(wheel)
    assert {"quarterjack/py.typed", "quarterjack/store/sql/put_schedules.sql"} <= packed
    tracked = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [name for name in tracked if name.removeprefix("src/") not in packed]


def unexpected_files(wheel: Path) -> list[str]:
    """Neither of the package nor about it."""
    return [
        name for name in _names(wheel) if not re.match(r"quarterjack(-[^/]+\.dist-info)?/", name)
    ]


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def install(wheel: Path, python: str, folder: Path) -> Path:
    """The interpreter of a new environment with the wheel and what it depends on."""
    if Path(python).resolve() == Path(sys.executable).resolve():
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    interpreter = folder / "bin" / "python"
    pip = [str(interpreter), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, str(wheel)], check=True, cwd=folder)
    return interpreter


def first_program(document: str) -> str:
    """The first Python of a document, on a port that is free."""
    program: str = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)[0]
    assert program.count("app.run()") == 1
    return program.replace("app.run()", "app.run(port=0)")


def run_until_succeeded(command: list[str], folder: Path, key: str, interpreter: Path) -> None:
    """Run a service until a run of this schedule has succeeded, then stop it."""
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    runs = [str(interpreter), "-m", "quarterjack", "runs", "list"]

    def listed() -> str:
        done = subprocess.run(
            runs, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    with (folder / f"{key}.log").open("wb") as log:
        service = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    deadline = time.monotonic() + SECONDS
    try:
        while not re.search(rf"\b{key}\b.*\bsucceeded\b", found := listed()):
            running = service.poll() is None and time.monotonic() < deadline
            assert running, (command, found, (folder / f"{key}.log").read_text())
        service.send_signal(signal.SIGTERM)
        assert service.wait(SECONDS) == 0, (folder / f"{key}.log").read_text()
    finally:
        service.kill()
        service.wait()


def check_installed(wheel: Path, python: str) -> str:
    """Everything that is promised of an installation; the version of its Python."""
    with TemporaryDirectory(prefix="quarterjack-wheel-") as name:
        folder = Path(name)
        interpreter = install(wheel, python, folder / "env")
        where = [str(interpreter), "-c", "import quarterjack; print(quarterjack.__file__)"]
        imported = subprocess.run(where, cwd=folder, capture_output=True, text=True, check=True)
        assert Path(imported.stdout.strip()).is_relative_to(folder), imported.stdout
        (folder / "jobs.py").write_text(first_program("README.md"))
        run_until_succeeded([str(interpreter), "jobs.py"], folder, "report", interpreter)
        (folder / "quarterjack.yaml").write_text(CONFIGURATION)
        (folder / "hello.py").write_text(PROGRAM)
        for key, program in (
            ("echo", [str(folder / "env/bin/quarterjack"), "up", "quarterjack.yaml"]),
            ("hello", [str(interpreter), "-m", "quarterjack", "up", "hello.py:app"]),
        ):
            run_until_succeeded([*program, "--port", "0"], folder, key, interpreter)
        return version_of(str(interpreter))


def pythons() -> list[str]:
    """One of each minor version that can run it: of those on the path, and of those that pyenv has
    installed, which are often not on it."""
    names = [f"python3.{minor}" for minor in range(OLDEST, OLDEST + 10)]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found: dict[str, str] = {}
    for name in names:
        for python in (shutil.which(name), *map(str, versions.glob(f"*/bin/{name}"))):
            if python and name not in found and version_of(python):
                found[name] = python
    return list(found.values())


def version_of(python: str) -> str:
    """Empty if it cannot create environments."""
    code = "import sys, venv; print(*sys.version_info[:3], sep='.')"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main() -> None:
    with TemporaryDirectory(prefix="quarterjack-wheel-") as name:
        wheel = build(Path(name))
        assert missing_files(wheel) == []
        assert unexpected_files(wheel) == []
        print(f"{wheel.name}: complete", flush=True)
        for python in pythons() or [sys.executable]:
            print(f"Python {check_installed(wheel, python)}: {DONE}", flush=True)


if __name__ == "__main__":
    main()
