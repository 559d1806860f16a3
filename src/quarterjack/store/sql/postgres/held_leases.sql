-- The attempts that this worker still holds. The condition on runs is written as part of the join: PostgreSQL
-- estimates that hardly any run is running, and would otherwise scan all running ones and look each one up in
-- the batch.
select runs.schedule_id, runs.number, runs.attempt, runs.cancel, runs.scope
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as wanted (schedule_id, number, attempt)
join runs using (schedule_id, number, attempt)
where (runs.state = 'running' and runs.worker = $4) = (wanted.attempt is not null)
