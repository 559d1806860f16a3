update runs
set
    state = $1,
    reason = $2,
    failures = $3,
    losses = $4,
    finished_at = $5,
    error = $6,
    result = $7,
    code = $8
where schedule_id = $9 and number = $10
