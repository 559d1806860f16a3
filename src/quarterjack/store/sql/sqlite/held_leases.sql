-- The attempts that this worker still holds.
select runs.schedule_id, runs.number, runs.attempt, runs.cancel, runs.scope
from json_each($1) as wanted
join runs
    on runs.schedule_id = wanted.value ->> 0
    and runs.number = wanted.value ->> 1
    and runs.attempt = wanted.value ->> 2
    and runs.state = 'running'
    and runs.worker = $2
