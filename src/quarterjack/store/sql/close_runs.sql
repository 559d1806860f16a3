update runs
set
    state = $1,
    reason = $2,
    failures = $3,
    losses = $4,
    finished_at = $5,
    error = $6,
    result = $7
where schedule_id = $8 and number = $9
