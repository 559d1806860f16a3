-- An attempt that failed or was lost after its schedule had been deleted was queued again, or held at
-- an open breaker. Such runs are closed, and the planner looks at the schedules that have held runs:
-- some of them waited for these.
update runs
set
    state = 'skipped',
    reason = 'deleted',
    finished_at = greatest(
        coalesce(started_at, planned_at),
        (select deleted_at from schedules where id = schedule_id)
    )
where
    state in ('held', 'queued')
    and schedule_id in (select id from schedules where deleted_at is not null);

update schedules
set wake_at = cursor
where
    status = 'active'
    and deleted_at is null
    and id in (select schedule_id from runs where state = 'held');
