"""Output of commands: too much of it, binary, with escape sequences for a terminal, or followed
while it is written."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.crash.kills import PROGRAM, RealService, wait_for
from quarterjack.engine.output import CHUNK_BYTES, HEAD_BYTES, TAIL_BYTES

GIGABYTE = 10**9
GROWN_MIB_MAX = 24
"""Of a worker with all of them at once: head and tail of each, and what is being written to the
database."""
ONE_LINE = f"printf begin; head -c {GIGABYTE} /dev/zero | tr '\\0' x; printf end"
BINARY = "import os\nfor _ in range(200): os.write(1, os.urandom(2**20))"
ATTACK = b"plain\r\n\x1b]0;owned\x07\x1b[2J \xff \xc2\x9b31m \xe2\x80\xae tab\t\xc3\xa9\rend\n"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    service = RealService(tmp_path)
    yield service
    service.end()


def memory_mib(pid: int, what: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.findall(rf"{what}:\s+(\d+) kB", status)[0]) / 1024


def declare(service: RealService, **commands: list[str]) -> None:
    once = {"every": "1h", "first_run": "now"}
    service.declare({key: once | {"command": command} for key, command in commands.items()})


def ended(service: RealService, count: int) -> Any:
    statement = "select key, state, schedule_id || '-' || number from runs"
    statement += " join schedules on id = schedule_id where finished_at is not null order by key"
    return wait_for(
        lambda: len(rows := service.query(statement)) == count and rows, 60, "all have ended"
    )


def assert_head_and_tail(data: bytes, size: int) -> None:
    """Of output of this size on one line."""
    head, gap, tail = data[:HEAD_BYTES], *data[HEAD_BYTES + 1 :].split(b"\n")
    omitted = size - len(head) - len(tail)
    assert gap.decode() == f"[{omitted} bytes omitted]"
    assert TAIL_BYTES - CHUNK_BYTES <= len(tail) <= TAIL_BYTES


def logs(service: RealService, run: str, *options: str) -> bytes:
    command = [
        *PROGRAM,
        "runs",
        "logs",
        run,
        "--database",
        f"sqlite:///{service.database}",
        *options,
    ]
    return subprocess.run(command, capture_output=True, check=True, timeout=30).stdout


@pytest.mark.fault("F51")
def test_output_is_stored_within_a_second_and_a_half_and_can_be_followed(service: RealService):
    """On a machine three times slower."""
    script = "for i in 1 2 3 4 5; do date +%s.%N; sleep 0.4; done; "
    script += "while [ ! -e gate ]; do sleep 0.05; done"
    declare(service, talking=["sh", "-c", f"cd {service.folder}; {script}; echo last"])
    process = service.up()
    wait_for(lambda: service.query("select 1 from output"), 20, "the first output")
    follower = subprocess.Popen(
        [*PROGRAM, "runs", "logs", "1-0", "-f", "--database", f"sqlite:///{service.database}"],
        stdout=subprocess.PIPE,
    )
    written: list[bytes] = []
    delays: list[float] = []

    def are_stored() -> bool:
        rows = service.query("select data from output order by sequence")
        now = time.time()
        new = b"".join(row[0] for row in rows).splitlines()[len(written) :]
        written.extend(new)
        delays.extend(now - float(line) for line in new)
        return len(written) >= 5

    wait_for(are_stored, 20, "five lines are stored")
    assert max(delays) < 3 * 1.5
    assert follower.stdout is not None
    assert [follower.stdout.readline().rstrip() for _ in range(5)] == written
    assert follower.poll() is None
    (service.folder / "gate").touch()

    assert follower.communicate(timeout=20)[0] == b"last\n"
    assert follower.returncode == 0
    service.stop(process)


@pytest.mark.fault("F51")
def test_of_a_gigabyte_the_head_and_the_tail_are_kept_and_the_worker_stays_small(
    service: RealService,
):
    declare(
        service,
        binary=[sys.executable, "-S", "-E", "-c", BINARY],
        closes=["sh", "-c", "echo before; exec >&- 2>&-; sleep 0.5; echo after; exit 0"],
        line=["sh", "-c", ONE_LINE],
    )
    process = service.up()
    before = memory_mib(process.pid, "VmRSS")
    (_, *binary), (_, *closes), (_, *line) = ended(service, 3)
    grown = memory_mib(process.pid, "VmHWM") - before
    service.stop(process)

    assert [state for state, _ in (binary, closes, line)] == ["succeeded"] * 3
    assert grown < GROWN_MIB_MAX
    data = logs(service, line[1])
    assert_head_and_tail(data, len("begin") + GIGABYTE + len("end"))
    assert (data[:6], data[-4:]) == (b"beginx", b"xend")
    assert len(logs(service, binary[1])) > HEAD_BYTES + TAIL_BYTES - CHUNK_BYTES
    assert len(json.loads(logs(service, binary[1], "--json"))["output"]) > HEAD_BYTES
    assert logs(service, closes[1]) == b"before\n"


@pytest.mark.fault("F51")
def test_escape_sequences_are_shown_as_text_on_a_terminal_and_unchanged_in_a_pipe(
    service: RealService,
):
    file = service.folder / "attack"
    file.write_bytes(ATTACK)
    declare(service, attack=["cat", str(file)])
    process = service.up()
    ((_, state, run),) = ended(service, 1)
    service.stop(process)

    command = [*PROGRAM, "runs", "logs", run, "--database", f"sqlite:///{service.database}"]
    terminal, theirs = pty.openpty()
    subprocess.run(command, stdout=theirs, check=True, timeout=30)
    os.close(theirs)
    seen = os.read(terminal, 65536).decode()
    os.close(terminal)

    assert (state, logs(service, run)) == ("succeeded", ATTACK)
    assert re.sub(r"^\d\d:\d\d:\d\d\.\d{3} ", "", seen, flags=re.MULTILINE).splitlines() == [
        "plain",
        r"\x1b]0;owned\x07\x1b[2J \xff \x9b31m \u202e tab" + "\té" + r"\rend",
    ]
