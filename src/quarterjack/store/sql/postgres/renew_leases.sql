-- The condition on runs is written as part of the join, as in held_leases.
update runs
set lease_until = $1
from unnest($3::bigint[], $4::bigint[], $5::bigint[]) as wanted (schedule_id, number, attempt)
where
    runs.schedule_id = wanted.schedule_id
    and runs.number = wanted.number
    and runs.attempt = wanted.attempt
    and (runs.state = 'running' and runs.worker = $2) = (wanted.attempt is not null)
returning runs.schedule_id, runs.number, runs.attempt, runs.cancel
