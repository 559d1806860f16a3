select started_at
from runs
where schedule_id = $1 and state = 'running' and kind = 'slot'
order by number desc
limit 1
