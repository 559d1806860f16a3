update runs
set
    ready_at = $1,
    scope = $2,
    state = $3,
    reason = $4,
    attempt = $5,
    failures = $6,
    losses = $7,
    worker = $8,
    started_at = $9,
    lease_until = $10,
    finished_at = $11,
    cancel = $12,
    error = $13,
    result = $14,
    code = $15
where schedule_id = $16 and number = $17
