select ready_at
from runs
where schedule_id = $1 and finished_at is null and failures > 0 and state <> 'running'
order by number desc
limit 1
