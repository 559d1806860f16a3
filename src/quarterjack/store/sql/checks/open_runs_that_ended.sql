select schedule_id || '-' || number
from runs
where finished_at is not null and state in ('held', 'queued', 'running')
limit $1
