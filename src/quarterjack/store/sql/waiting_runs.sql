select
    min(ready_at) filter (where failures > 0),
    min(ready_at)
from runs
where schedule_id = $1 and finished_at is null and state <> 'running'
