-- The attempts that are still this worker's. What a run must be is said as a clause of the join:
-- nobody can tell beforehand how many are running, and PostgreSQL, guessing that it is hardly one,
-- would go through all of them and look each one up in what is wanted.
select runs.schedule_id, runs.number, runs.attempt, runs.cancel, runs.scope
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as wanted (schedule_id, number, attempt)
join runs using (schedule_id, number, attempt)
where (runs.state = 'running' and runs.worker = $4) = (wanted.attempt is not null)
