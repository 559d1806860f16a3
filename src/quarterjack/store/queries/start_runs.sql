update runs
set state = 'running', attempt = $1, worker = $2, started_at = $3, lease_until = $4
where schedule_id = $5 and number = $6
