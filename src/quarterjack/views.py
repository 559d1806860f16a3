"""The canonical JSON of a schedule, a run and what belongs to them, the same in every interface."""

from __future__ import annotations

import logging
from typing import Any

from quarterjack.rules import Attempt, SlotsNotRun, Specification, Status, Unreadable
from quarterjack.rules.definition.capabilities import Capabilities
from quarterjack.store.output_lines import Gap, Line
from quarterjack.store.reader import FoundRun, FoundSchedule
from quarterjack.store.types import Audit, NodeInfo, Progress
from quarterjack.targets.kinds import KINDS
from quarterjack.times import Every, Recurrence
from quarterjack.times.instants import MILLISECOND, SECOND, to_text

_NOT_POLICIES = KINDS.fields | {
    "cron", "every", "at", "after", "hourly", "daily", "weekly", "monthly", "timezone", "payload",
    "name", "description", "tags", "total_repeats", "max_retries", "timeout", "delete_after_run",
    "enabled",
}  # fmt: skip


def schedule_view(found: FoundSchedule) -> dict[str, Any]:
    """Every field, whatever the target. Instants are RFC 3339; a name without `_at` is in
    milliseconds."""
    schedule, stored, specification = found.schedule, found.stored, found.schedule.specification
    is_readable = not isinstance(specification, Unreadable)
    return {
        "id": schedule.id,
        "key": schedule.key,
        "name": stored.name or schedule.key,
        **(_definition(specification) if is_readable else _NO_DEFINITION),
        "enabled": is_readable and schedule.status is not Status.PAUSED,
        "origin": stored.origin,
        "user_uuid": stored.owner,
        "user_profile_id": stored.owner,
        "status": str(schedule.status),
        "status_reason": _optional(schedule.status_reason),
        "paused_by": schedule.paused_by,
        "paused_until": _text(schedule.paused_until),
        "version": schedule.version,
        **{name: getattr(schedule, name) for name in _COUNTERS},
        "last_error": schedule.last_error or "",
        "last_result": schedule.last_result,
        "next_run_at": _text(found.next_run_at),
        "next_run": _milliseconds(found.next_run_at),
        "last_run_at": _text(found.last_run_at),
        "last_run": _milliseconds(found.last_run_at),
        **{name: _text(getattr(schedule, name)) for name in _LAST_INSTANTS},
        "retry_at": _text(found.retry_at),
        "last_run_id": schedule.last_run_id,
        "last_success_run_id": schedule.last_success_run_id,
        "created_at": _text(schedule.created_at),
        "created": _milliseconds(schedule.created_at),
        "updated_at": _text(stored.updated_at),
        "deleted_at": _text(stored.deleted_at),
    }


_COUNTERS = (
    "current_repeat", "current_retry", "run_count", "planned_count", "error_count",
    "consecutive_errors",
)  # fmt: skip
_LAST_INSTANTS = ("last_fired_at", "last_slot", "last_success_at", "last_failure_at")
_RUN_INSTANTS = ("slot", "ready_at", "planned_at", "started_at", "finished_at")
_TARGET_FIELDS = ("prompt", "model", "opts", "workflow_id", "trigger_node_id")
_NO_DEFINITION = {"in_words": "cannot be read", "target": {}, "policies": {}}
"""`status_reason` says why."""


def _definition(specification: Specification) -> dict[str, Any]:
    body, recurrence = specification.to_json(), specification.recurrence
    target = specification.target
    interval = recurrence.interval.nominal if isinstance(recurrence, Every) else None
    at = recurrence.to_json().get("at")
    seconds = None if specification.timeout is None else _seconds(specification.timeout)
    fields, payload = dict(target.fields), dict(specification.payload)
    return {
        "description": specification.description,
        "tags": list(specification.tags),
        "schedule_type": _type(recurrence),
        "cron_expr": body.get("cron") or getattr(recurrence, "cron_text", None),
        "interval_ms": None if interval is None else interval // MILLISECOND,
        "interval_seconds": None if interval is None else _seconds(interval),
        "at": at,
        "in_words": recurrence.describe(),
        "timezone": specification.timezone,
        "target": {"kind": target.kind, **fields},
        **{name: fields.get(name) for name in _TARGET_FIELDS},
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


def _type(recurrence: Recurrence) -> str:
    """Hourly, Daily, Weekly and Monthly are cron expressions as well."""
    name = next(iter(recurrence.to_json()))
    return name if name in ("every", "at", "after") else "cron"


def run_view(found: FoundRun) -> dict[str, Any]:
    run = found.run
    return {
        "id": run.id,
        "schedule_id": run.schedule_id,
        "schedule": found.key,
        "number": run.number,
        "kind": str(run.kind),
        "state": str(run.state),
        "reason": _optional(run.reason),
        **{name: _text(getattr(run, name)) for name in _RUN_INSTANTS},
        "attempt": run.attempt,
        "progress": progress_view(found.progress.get(run.attempt)),
        "times_out_at": _text(found.times_out_at),
        "worker": run.worker,
        "spec_version": run.version,
        "payload": found.payload,
        "result": run.result,
        "error": run.error,
        "code": run.code,
        "caught_up": run.caught_up,
    }


def progress_view(progress: Progress | None) -> dict[str, Any] | None:
    """The last progress that an attempt reported."""
    if progress is None or progress.fraction is None:
        return None
    fraction, text = progress.fraction, progress.text
    return {"fraction": fraction, "text": text, "at": to_text(progress.at)}


def attempt_view(attempt: Attempt, progress: Progress | None = None) -> dict[str, Any]:
    outcome = attempt.outcome
    return {
        "attempt": attempt.number,
        "worker": attempt.worker,
        "started_at": _text(attempt.started_at),
        "finished_at": _text(outcome.at),
        "ending": str(outcome.ending),
        "progress": progress_view(progress),
        "error": outcome.error,
        "code": outcome.code,
        "result": outcome.result,
        "handed_back": outcome.handed_back,
    }


def line_view(line: Line | Gap) -> dict[str, Any]:
    """A line of output, or how many bytes of it were not kept."""
    if isinstance(line, Gap):
        return line._asdict()
    level = logging.getLevelName(line.level).lower() if line.level else None
    return line._asdict() | {"at": _text(line.at), "level": level}


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


def _optional(text: str | None) -> str | None:
    return None if text is None else str(text)


def _seconds(duration: int) -> int | float:
    return duration / SECOND if duration % SECOND else duration // SECOND


def _milliseconds(instant: int | None) -> int | None:
    return None if instant is None else instant // MILLISECOND


def node_view(node: NodeInfo) -> dict[str, Any]:
    fields, can = node._asdict(), Capabilities.from_text(node.capabilities)
    ahead, _, _ = fields.pop("ahead"), fields.pop("process"), fields.pop("capabilities")
    return {
        **fields,
        "kinds": None if can is None else sorted(can.names),
        "tasks": None if can is None else list(can.names.get("task") or ()),
        "started_at": to_text(node.started_at),
        "seen_at": to_text(node.seen_at),
        "ahead_seconds": _seconds(ahead),
    }
