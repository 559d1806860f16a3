"""Builds the wheel, installs it with plain pip into an empty environment outside the checkout, and
runs it there: `python -m harness.acceptance.wheel` does so for each Python that is installed."""

from __future__ import annotations

import os
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
PROGRAM = """\
from quarterjack import Every, Quarterjack

app = Quarterjack()


@app.schedule("hello", Every("1h"), first_run="now")
async def hello() -> str:
    return "hello"


if __name__ == "__main__":
    app.run(port=0)
"""
CONFIGURATION = "schedules: {echo: {every: 1h, first_run: now, command: [echo, hello]}}\n"
SECONDS = 60


def build(folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(ROOT)], check=True, cwd=folder)
    (wheel,) = folder.glob("quarterjack-*.whl")
    return wheel


def missing_files(wheel: Path) -> list[str]:
    """Files of the package in the checkout that the wheel does not have."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [name for name in tracked if name.removeprefix("src/") not in packed]


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


def run_until_succeeded(command: list[str], folder: Path, key: str, interpreter: Path) -> str:
    """Run a service until a run of this schedule has succeeded; its exit code and the runs."""
    environment = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    service = subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE)
    runs = [str(interpreter), "-m", "quarterjack", "runs", "list"]
    deadline = time.monotonic() + SECONDS
    try:
        while True:
            done = subprocess.run(
                runs, cwd=folder, env=environment, capture_output=True, text=True, check=False
            )
            if any(key in row and "succeeded" in row for row in done.stdout.splitlines()):
                return done.stdout
            if service.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{command}: {done.stdout}{done.stderr}")
    finally:
        service.send_signal(signal.SIGTERM)
        _, errors = service.communicate(timeout=SECONDS)
        if service.returncode != 0:
            print(errors.decode(), file=sys.stderr)


def check_installed(wheel: Path, python: str) -> str:
    """Everything that is promised of an installation; the version of its Python."""
    with TemporaryDirectory(prefix="quarterjack-wheel-") as name:
        folder = Path(name)
        interpreter = install(wheel, python, folder / "env")
        (folder / "jobs.py").write_text(PROGRAM)
        (folder / "quarterjack.yaml").write_text(CONFIGURATION)
        program = [str(interpreter), "jobs.py"]
        run_until_succeeded(program, folder, "hello", interpreter)
        up = [str(folder / "env/bin/quarterjack"), "up", "quarterjack.yaml", "--port", "0"]
        run_until_succeeded(up, folder, "echo", interpreter)
        version = [str(interpreter), "-c", "import sys; print(*sys.version_info[:3], sep='.')"]
        return subprocess.run(version, capture_output=True, text=True, check=True).stdout.strip()


def pythons() -> list[str]:
    names = [f"python3.{minor}" for minor in range(11, 20)]
    return [found for name in names if (found := shutil.which(name)) and _starts(found)]


def _starts(python: str) -> bool:
    done = subprocess.run([python, "-c", "import venv"], capture_output=True, check=False)
    return done.returncode == 0


def main() -> None:
    with TemporaryDirectory(prefix="quarterjack-wheel-") as name:
        wheel = build(Path(name))
        assert missing_files(wheel) == []
        for python in pythons() or [sys.executable]:
            print(f"Python {check_installed(wheel, python)}: installed and run")


if __name__ == "__main__":
    main()
