-- Claims ready runs of one queue and priority, in the order of the index, skipping those that another
-- worker is claiming. Returns them with the columns of their schedules that a worker needs; a
-- declared schedule has no user.
with ready as (
    select schedule_id, number
    from runs
    where state = 'queued' and queue = $4 and priority = $5 and ready_at <= $2
    order by ready_at, schedule_id, number
    limit $6
    for update skip locked
)

update runs
set state = 'running', attempt = attempt + 1, worker = $1, started_at = $2, lease_until = $3
from ready
left join schedules on schedules.id = ready.schedule_id
where runs.schedule_id = ready.schedule_id and runs.number = ready.number
returning runs.*, schedules.key, schedules.last_success_at,
    case when schedules.origin <> 'declaration' then schedules.owner end as owner
