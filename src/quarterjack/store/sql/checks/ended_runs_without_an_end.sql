select schedule_id || '-' || number
from runs
where finished_at is null and state not in ('held', 'queued', 'running')
limit $1
