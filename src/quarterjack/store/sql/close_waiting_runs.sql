-- Runs that have not started.
update runs
set state = 'skipped', reason = $1, finished_at = $2
where schedule_id = $3 and state in ('held', 'queued')
