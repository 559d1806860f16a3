-- An attempt that failed or was lost after its schedule had been deleted was queued again, or held at
-- an open breaker. Such runs are closed, and the planner looks at the schedules that have held runs:
-- some of them waited for these.
--
-- They end now: daily figures have counted what ended earlier. An earlier attempt of theirs may have
-- started, long ago; that is in `attempts`.
update runs
set
    state = 'skipped',
    reason = 'deleted',
    started_at = null,
    finished_at = greatest(
        planned_at,
        (select deleted_at from schedules where id = schedule_id),
        (select (extract(epoch from applied_at) * 1000000)::bigint from migrations where number = 4)
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
