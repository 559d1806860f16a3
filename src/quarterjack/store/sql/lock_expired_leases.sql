select *
from runs
where state = 'running' and lease_until <= $1
order by lease_until, schedule_id, number
limit $2
