-- The attempts that are still this worker's.
select runs.schedule_id, runs.number, runs.attempt, runs.cancel, runs.scope
from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as wanted (schedule_id, number, attempt)
join runs using (schedule_id, number, attempt)
where runs.state = 'running' and runs.worker = $4
