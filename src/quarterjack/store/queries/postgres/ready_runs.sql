-- Of one queue and priority, so that the index gives them in order, those that nobody else takes; and
-- what a worker needs to know of their schedules.
with ready as (
    select *
    from runs
    where state = 'queued' and queue = $1 and priority = $2 and ready_at <= $3
    order by ready_at, schedule_id, number
    limit $4
    for update skip locked
)

select ready.*, schedules.key, schedules.last_success_at, schedules.owner
from ready
left join schedules on schedules.id = ready.schedule_id
order by ready.ready_at, ready.schedule_id, ready.number
