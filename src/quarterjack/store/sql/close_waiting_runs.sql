-- What has not started never will.
update runs
set state = 'skipped', reason = $1, finished_at = $2
where schedule_id = $3 and state in ('held', 'queued')
