"""What the live workers can run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest

from harness.rules.values import specification
from quarterjack.errors import InvalidSpecification
from quarterjack.rules.definition.capabilities import check_runnable

COMMAND = specification(every="1h", command=["x"])


def is_refused(workers: Sequence[Collection[str] | None]) -> bool:
    try:
        check_runnable(COMMAND, workers)
    except InvalidSpecification:
        return True
    return False


@pytest.mark.parametrize(
    ("workers", "refused"),
    [
        ([], False),
        ([{"command"}], False),
        ([{"task"}, {"command", "task"}], False),
        ([{"task"}, None], False),
        ([{"task"}], True),
        ([{"task"}, {"http"}], True),
        ([set()], True),
    ],
)
def test_a_kind_is_refused_if_every_live_worker_is_known_not_to_run_it(
    workers: Sequence[Collection[str] | None], refused: bool
):
    assert is_refused(workers) is refused


def test_the_error_names_the_kinds_that_the_workers_run():
    with pytest.raises(InvalidSpecification) as error:
        check_runnable(COMMAND, [{"task", "http"}, {"task"}])

    assert str(error.value) == (
        'target "command" cannot be run by any live worker: '
        "they run http, task; start a worker that can, or use one of these kinds"
    )
