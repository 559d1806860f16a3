update runs
set scope = $1
where schedule_id = $2 and state in ('held', 'queued', 'running')
