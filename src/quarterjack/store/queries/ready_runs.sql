-- Of one queue and priority, so that the index gives them in order.
select *
from runs
where state = 'queued' and queue = $1 and priority = $2 and ready_at <= $3
order by ready_at
limit $4
