"""What `up`, `scheduler`, `worker` and `check` are given: a program, by its module or its file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.command_line import CommandLine
from harness.crash.kills import RealService
from quarterjack.cli import commands, foreground
from quarterjack.cli.runtime import Runtime
from quarterjack.service import Service

PROGRAM = """
from quarterjack import Quarterjack

app = Quarterjack(queues=["default", "reports"])

@app.every("1h")
async def tick() -> None: ...
"""
COMMANDS = ("up", "scheduler", "worker", "check")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a command is run; what it imports is unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(commands, arguments, obj=Runtime())
    return result.exit_code, result.output


def write(folder: Path, **files: str) -> None:
    """`shop__jobs` is shop/jobs.py."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(exist_ok=True)
        if path.parent != folder:
            (path.parent / "__init__.py").touch()
        path.write_text(text)


@pytest.mark.parametrize(
    "source", ["jobs:app", "jobs.py:app", "shop.jobs:app", "shop/jobs.py:app", "holder:inner.app"]
)
def test_a_program_is_named_by_module_or_file(folder: Path, source: str):
    holder = f"{PROGRAM}\nclass inner: pass\ninner.app = app\n"
    write(folder, jobs=PROGRAM, shop__jobs=PROGRAM, holder=holder)

    code, output = invoke("check", source)

    assert (code, output.splitlines()) == (
        0,
        [f"{source} is valid: 1 schedule, 1 task", "  add tick: every hour"],
    )


def test_a_package_may_use_relative_imports(folder: Path):
    write(folder, shop__base=PROGRAM, shop__jobs="from .base import app\n")

    assert invoke("check", "shop.jobs:app")[0] == 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("shop.jbos:app", "cannot be found; did you mean shop.jobs?"),
        ("shpo.jobs:app", "cannot be found; did you mean shop?"),
        ("jobs.x:app", "cannot be found; run this where the module is, or give its file"),
        ("jbos.py:app", "does not exist; did you mean jobs.py?"),
        ("jobs:ap", "does not exist: jobs has no ap; did you mean app?"),
        ("jobs:tick", "is of type function, not a Quarterjack app; did you mean app?"),
        ("empty:app", "does not exist: empty has no app; create one in empty: app = Quarterjack()"),
        ("several:x", "does not exist: several has no x; it has app, other"),
        ("jobs.py", "names no app; give a module and the name of the app in it"),
        ("jobs:", "names no app; give a module and the name of the app in it"),
        (":app", "names no app; give a module and the name of the app in it"),
        ("click.py:app", "has the name of a module that is in use, click; rename the file"),
        (
            "shop/relative.py:app",
            "failed to import: ImportError: attempted relative import with no known parent package "
            "({folder}/shop/relative.py:1); give the module instead of the file",
        ),
        (
            "missing:app",
            "failed to import: ModuleNotFoundError: No module named 'nothing_like_it' "
            "({folder}/missing.py:2); install that module, or correct its name",
        ),
        (
            "syntax.py:app",
            "failed to import: SyntaxError: invalid syntax ({folder}/syntax.py:3); fix it there",
        ),
        (
            "library:app",
            "failed to import: JSONDecodeError: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1) ({folder}/library.py:4); fix it there",
        ),
        (
            "naive:app",
            'failed to import: InvalidRecurrence: at "2026-12-01T00:00:00" has no offset from UTC; '
            'append "Z" or an offset such as "+02:00" ({folder}/naive.py:3); fix it there',
        ),
        ("exits:app", "failed to import: SystemExit: 3 ({folder}/exits.py:1); fix it there"),
    ],
)
def test_a_program_that_cannot_be_imported_says_where_and_why(
    folder: Path, source: str, message: str
):
    write(
        folder,
        jobs=PROGRAM,
        shop__jobs=PROGRAM,
        shop__relative="from .jobs import app\n",
        empty="",
        several=f"{PROGRAM}\nother = Quarterjack()\n",
        click=PROGRAM,
        missing="\nimport nothing_like_it\n",
        syntax="\n\ndef f(:\n",
        library="import json\n\ndef read():\n    return json.loads('{')\n\nread()\n",
        naive="from quarterjack import At\n\nAt('2026-12-01T00:00:00')\n",
        exits="raise SystemExit(3)\n",
    )

    code, output = invoke("check", source)

    assert code == 1
    assert output.startswith(f'error: app "{source}" {message.format(folder=folder)}'), output


@pytest.mark.mission("H4")
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_reports_all_problems_of_a_program_and_exits_with_1(
    folder: Path, command: str
):
    wrong = "app.schedule('x', 'tik', '5 minutos')\napp.schedule('y', tick, '1h', args=[1])\n"
    write(folder, jobs=PROGRAM + wrong)

    code, output = invoke(command, "jobs:app")

    assert code == 1
    assert output.splitlines() == [
        "error: jobs:app: 3 problems",
        '  - jobs.py:8: schedule "x": schedule "5 minutos" has "5" at character 1, which could be '
        '05:00 or 17:00; write a phrase such as "every 15 minutes"',
        '  - jobs.py:8: schedule "x": task "tik" is not registered; did you mean tick?',
        '  - jobs.py:9: schedule "y": task "tick" cannot be called so: '
        "too many positional arguments; it takes (), at jobs.py:6; give args= or kwargs=",
    ]
    assert sorted(each.name for each in folder.iterdir()) == ["jobs.py"], "no database"


@pytest.mark.parametrize("last", ["app.run()", "app.start()"])
def test_a_command_runs_the_program_itself_not_what_its_module_would_run(folder: Path, last: str):
    write(folder, jobs=f"{PROGRAM}\n{last}\n")

    assert invoke("check", "jobs:app")[0] == 0
    assert sorted(each.name for each in folder.iterdir()) == ["jobs.py"]


@pytest.mark.mission("H3")
def test_a_worker_works_on_the_given_queues(folder: Path, monkeypatch: pytest.MonkeyPatch):
    started: list[Service] = []
    monkeypatch.setattr(foreground, "run_in_foreground", lambda service, _: started.append(service))
    write(folder, jobs=PROGRAM)

    invoke("worker", "jobs:app", "--queues", " reports, default ", "-c", "3")
    invoke("worker", "jobs:app")
    invoke("scheduler", "jobs:app", "--loglevel=INFO")

    configured = [each._config.worker for each in started]
    assert [each.queues for each in configured] == [
        ("reports", "default"), ("default", "reports"), ("default", "reports"),
    ]  # fmt: skip
    assert configured[0].concurrency == 3
    assert [(each._config.plans, each._config.works) for each in started] == [
        (False, True), (False, True), (True, False),
    ]  # fmt: skip


@pytest.mark.parametrize("queues", ["slow", "default,slow", ","])
def test_a_queue_that_is_not_declared_is_a_usage_error(folder: Path, queues: str):
    write(folder, jobs=PROGRAM)

    code, output = invoke("worker", "jobs:app", "--queues", queues)

    assert code == 2
    assert "is not declared; use one of default, reports" in output


@pytest.mark.mission("H4")
def test_a_task_is_added_only_if_a_live_worker_has_it(folder: Path, service: RealService):
    write(service.folder, jobs=PROGRAM)
    cli, service.source = CommandLine(service.folder), "jobs:app"
    worker = service.up("worker")

    cli.output("add", "known", "--every", "1h", "--task", "tick")
    output = cli.error(2, "add", "unknown", "--every", "1h", "--task", "tock")

    assert 'task "tock" is not registered in any live worker; did you mean tick?' in output
    service.stop(worker)
    cli.output("add", "unknown", "--every", "1h", "--task", "tock")
