-- Claims ready runs of one queue and priority, in the order of the index. Returns them with the columns of
-- their schedules that a worker needs; a declared schedule has no user.
update runs
set state = 'running', attempt = attempt + 1, worker = $1, started_at = $2, lease_until = $3
where (schedule_id, number) in (
    select schedule_id, number
    from runs
    where state = 'queued' and queue = $4 and priority = $5 and ready_at <= $2
    order by ready_at, schedule_id, number
    limit $6
)
returning
    *,
    (select key from schedules where id = runs.schedule_id),
    (select last_success_at from schedules where id = runs.schedule_id),
    (select owner from schedules where id = runs.schedule_id and origin <> 'declaration')
