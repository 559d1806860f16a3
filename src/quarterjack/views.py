"""Shown: a schedule and a run in the one form that every face shows."""

from __future__ import annotations

from typing import Any

from quarterjack.rules import Attempt, SlotsNotRun, Specification, Status, Unreadable
from quarterjack.rules.definition.target import TARGET_FIELDS
from quarterjack.store.reader import FoundRun, FoundSchedule
from quarterjack.store.types import Audit, NodeInfo
from quarterjack.times import After, At, Every, Recurrence
from quarterjack.times.instants import EARLIEST, MILLISECOND, SECOND, to_text

_NOT_POLICIES = TARGET_FIELDS | {
    "cron", "every", "at", "after", "hourly", "daily", "weekly", "monthly", "timezone", "payload",
    "name", "description", "tags", "total_repeats", "max_retries", "timeout", "delete_after_run",
    "enabled",
}  # fmt: skip


def schedule_view(found: FoundSchedule) -> dict[str, Any]:
    """Every field, whatever the target; instants are RFC 3339, or milliseconds where the name says
    no `_at`."""
    schedule, stored = found.schedule, found.stored
    specification = schedule.specification
    said = _nothing() if isinstance(specification, Unreadable) else _said(specification)
    next_run_at = found.next_run_at
    return {
        "id": schedule.id,
        "key": schedule.key,
        "name": stored.name or schedule.key,
        **said,
        "enabled": "target" in said and schedule.status is not Status.PAUSED,
        "origin": stored.origin,
        "user_uuid": stored.owner,
        "user_profile_id": stored.owner,
        "status": str(schedule.status),
        "status_reason": _word(schedule.status_reason),
        "paused_by": schedule.paused_by,
        "paused_until": _text(schedule.paused_until),
        "version": schedule.version,
        "current_repeat": schedule.current_repeat,
        "current_retry": schedule.current_retry,
        "run_count": schedule.run_count,
        "planned_count": schedule.planned_count,
        "error_count": schedule.error_count,
        "consecutive_errors": schedule.consecutive_errors,
        "last_error": schedule.last_error or "",
        "last_result": schedule.last_result,
        "next_run_at": _text(next_run_at),
        "next_run": _milliseconds(next_run_at),
        "last_run_at": _text(found.last_run_at),
        "last_run": _milliseconds(found.last_run_at),
        "last_fired_at": _text(schedule.last_fired_at),
        "last_slot": _text(schedule.last_slot),
        "last_success_at": _text(schedule.last_success_at),
        "last_failure_at": _text(schedule.last_failure_at),
        "retry_at": _text(found.retry_at),
        "last_run_id": schedule.last_run_id,
        "last_success_run_id": schedule.last_success_run_id,
        "created_at": _text(schedule.created_at),
        "created": _milliseconds(schedule.created_at),
        "updated_at": _text(stored.updated_at),
        "deleted_at": _text(stored.deleted_at),
    }


def _said(specification: Specification) -> dict[str, Any]:
    """What its definition says."""
    body, recurrence, target = (
        specification.to_json(),
        specification.recurrence,
        specification.target,
    )
    interval = recurrence.interval.nominal if isinstance(recurrence, Every) else None
    at = recurrence.slots.after(EARLIEST - 1) if isinstance(recurrence, At) else None
    seconds = None if specification.timeout is None else _seconds(specification.timeout)
    fields, payload = dict(target.fields), dict(specification.payload)
    return {
        "description": specification.description,
        "tags": list(specification.tags),
        "schedule_type": _type(recurrence),
        "cron_expr": body.get("cron") or getattr(recurrence, "cron_text", None),
        "interval_ms": None if interval is None else interval // MILLISECOND,
        "interval_seconds": None if interval is None else _seconds(interval),
        "at": _text(at),
        "in_words": recurrence.describe(),
        "timezone": specification.timezone,
        "target": {"kind": target.kind, **fields},
        "prompt": fields.get("prompt"),
        "model": fields.get("model"),
        "opts": fields.get("opts"),
        "workflow_id": fields.get("workflow_id"),
        "trigger_node_id": fields.get("trigger_node_id"),
        "payload": payload,
        "trigger_payload": payload,
        "total_repeats": specification.total_repeats,
        "max_retries": body["max_retries"],
        "timeout_seconds": seconds,
        "delete_after_run": specification.delete_after_run,
        "policies": {
            "preset": specification.preset,
            **{name: value for name, value in body.items() if name not in _NOT_POLICIES},
        },
        "config_hash": specification.configuration_hash,
    }


def _nothing() -> dict[str, Any]:
    """A definition that cannot be read; `status_reason` says why."""
    return {"in_words": "cannot be read", "target": {}, "policies": {}}


_TYPES = {Every: "every", At: "at", After: "after"}


def _type(recurrence: Recurrence) -> str:
    """What is no interval and no single instant, one cron expression says exactly."""
    return _TYPES.get(type(recurrence), "cron")


def run_view(found: FoundRun) -> dict[str, Any]:
    run = found.run
    return {
        "id": run.id,
        "schedule_id": run.schedule_id,
        "schedule": found.key,
        "number": run.number,
        "kind": str(run.kind),
        "state": str(run.state),
        "reason": _word(run.reason),
        "slot": _text(run.slot),
        "ready_at": _text(run.ready_at),
        "planned_at": _text(run.planned_at),
        "started_at": _text(run.started_at),
        "finished_at": _text(run.finished_at),
        "attempt": run.attempt,
        "worker": run.worker,
        "spec_version": run.version,
        "payload": found.payload,
        "result": run.result,
        "error": run.error,
        "caught_up": run.caught_up,
    }


def attempt_view(attempt: Attempt) -> dict[str, Any]:
    outcome = attempt.outcome
    return {
        "attempt": attempt.number,
        "worker": attempt.worker,
        "started_at": _text(attempt.started_at),
        "finished_at": _text(outcome.at),
        "ending": str(outcome.ending),
        "error": outcome.error,
        "result": outcome.result,
        "handed_back": outcome.handed_back,
    }


def slots_not_run_view(row: SlotsNotRun) -> dict[str, Any]:
    return {
        "first": _text(row.first),
        "last": _text(row.last),
        "count": row.count,
        "state": str(row.state),
        "reason": str(row.reason),
        "meaning": row.reason.meaning,
    }


def audit_view(row: Audit) -> dict[str, Any]:
    return row._asdict() | {"at": _text(row.at)}


def _text(instant: int | None) -> str | None:
    return None if instant is None else to_text(instant)


def _word(word: str | None) -> str | None:
    return None if word is None else str(word)


def _seconds(duration: int) -> int | float:
    """Whole ones are whole numbers."""
    return duration / SECOND if duration % SECOND else duration // SECOND


def _milliseconds(instant: int | None) -> int | None:
    return None if instant is None else instant // MILLISECOND


def node_view(node: NodeInfo) -> dict[str, Any]:
    shown = node._asdict()
    ahead, _ = shown.pop("ahead"), shown.pop("process")
    return {
        **shown,
        "started_at": to_text(node.started_at),
        "seen_at": to_text(node.seen_at),
        "ahead_seconds": _seconds(ahead),
    }
