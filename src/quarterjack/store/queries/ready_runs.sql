-- Of one queue and priority, so that the index gives them in order; and what a worker needs to know
-- of their schedules.
select runs.*, schedules.key, schedules.last_success_at, schedules.owner
from runs
left join schedules on schedules.id = runs.schedule_id
where state = 'queued' and queue = $1 and runs.priority = $2 and ready_at <= $3
order by ready_at, schedule_id, number
limit $4
