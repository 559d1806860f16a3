"""The notifier: notifications are logged, and marked as sent afterwards."""

from __future__ import annotations

import logging

import pytest

from harness.engine.service import SteppedService, failing


def test_a_failed_run_is_logged_once_and_marked_as_sent(
    sqlite_service: SteppedService, caplog: pytest.LogCaptureFixture
):
    service = sqlite_service
    service.add(every="1h")
    service.work = failing
    with caplog.at_level(logging.WARNING, "quarterjack"):
        service.run_until("09:00")
        service.restart()
        service.run_until("09:30")

    lines = [line.getMessage() for line in caplog.records if "run.failed" in line.getMessage()]
    assert lines == ["run.failed about=1-0 notification=1 why='Failed: boom'"]
    assert service.execute("select count(*) from outbox where sent_at is null") == [(0,)]
