"""The outbox: notifications wait here until they have been sent."""

from __future__ import annotations

from collections.abc import Sequence

from quarterjack.store.rows import from_json
from quarterjack.store.statements import Query, QueryMany, Statements
from quarterjack.store.types import Notification


def unsent_notifications(limit: int) -> Statements[Sequence[Notification]]:
    rows = yield Query("unsent_notifications", (limit,))
    return [Notification._make((*row[:3], from_json(row[3]), row[4])) for row in rows]


def mark_sent(notifications: Sequence[Notification], now: int) -> Statements[None]:
    yield QueryMany("mark_sent", [(now, notification.id) for notification in notifications])
