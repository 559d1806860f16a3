"""What one task changes for the next is put back; what is used up ends the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.targets.pools import NewPool, NewProgram, RealPool
from quarterjack.targets.processes.surroundings import RUNS_MAX, Surroundings

OUTPUT = "standard output\nstandard error\nof a program\n"


@pytest.mark.fault("F53")
def test_folder_environment_signal_handlers_and_streams_are_put_back(
    pool: RealPool, tmp_path: Path
):
    before = pool.call("surroundings").result

    assert pool.call("change_surroundings", str(tmp_path)).error is None

    assert pool.call("surroundings").result == before
    assert pool.output_of("surroundings") == [(OUTPUT, 0)]


@pytest.mark.fault("F53")
def test_a_folder_that_was_removed_is_left(pool: RealPool, tmp_path: Path):
    before = pool.call("surroundings").result

    assert pool.call("change_folder_and_remove_it", str(tmp_path / "gone")).error is None

    assert pool.call("surroundings").result == before


@pytest.mark.fault("F51", "F53")
@pytest.mark.parametrize("how", ["stream", "descriptor", "replaced"])
def test_a_task_that_closes_its_output_succeeds_and_the_next_one_has_output(
    pool: RealPool, how: str
):
    before = pool.call("process").result

    assert pool.call("close_output", how).error is None

    assert pool.output_of("surroundings") == [(OUTPUT, 0)]
    assert pool.call("process").result == before


def test_a_process_is_replaced_after_so_many_runs():
    """The last three of them: the campaign `harness.targets.endurance` executes all."""
    surroundings = Surroundings()
    surroundings._runs = RUNS_MAX - 3

    reasons = [surroundings.why_to_end() for _ in range(3)]

    assert reasons == [None, None, f"it has executed {RUNS_MAX} runs"]


CHANGES = """
import contextvars, io, signal, sys
import quarterjack
owner = contextvars.ContextVar("owner", default="nobody")
def set_alarm(): signal.alarm(1)
def close_errors(): sys.stderr.close()
def detach(): sys.stdout = io.TextIOWrapper(sys.stdout.detach())
def set_owner(): owner.set("ada")
def look():
    print("printed")
    print("printed", file=sys.stderr)
    time.sleep(1.2 if signal.getitimer(signal.ITIMER_REAL)[0] else 0)
    return [os.getpid(), owner.get()]
for each in (set_alarm, close_errors, detach, set_owner, look):
    registry.tasks[each.__name__] = each
"""


@pytest.mark.fault("F53")
def test_alarms_closed_and_detached_streams_and_context_variables_are_not_for_the_next_call(
    new_program: NewProgram, new_pool: NewPool
):
    pool = new_pool(new_program("", CHANGES))
    before = pool.call("look")

    for task in ("set_alarm", "close_errors", "detach", "set_owner"):
        assert (task, pool.call(task).error) == (task, None)
        assert (task, pool.call("look")) == (task, before)
        assert pool.output_of("look") == [("printed\nprinted\n", 0)]
