-- A schedule that was deleted meanwhile is left alone. That condition is written as part of the join with the
-- batch: PostgreSQL estimates that hardly any schedule is not deleted, and would otherwise scan all of them for
-- each row of the batch.
update schedules
set
    anchor_at = $1,
    cursor = $2,
    version = $3,
    status = $4,
    status_reason = $5,
    paused_by = $6,
    paused_until = $7,
    next_slot = $8,
    wake_at = $9,
    planned_count = $10,
    run_count = $11,
    current_repeat = $12,
    current_retry = $13,
    error_count = $14,
    consecutive_errors = $15,
    last_error = $16,
    last_result = $17,
    last_run_id = $18,
    last_fired_at = $19,
    last_success_at = $20,
    last_success_run_id = $21,
    last_failure_at = $22,
    not_run = $23,
    backfill = $24,
    last_slot = $25
where id = $26 and (deleted_at is null) = ($26 is not null)
