-- The runs of these schedules beyond the number that is kept.
select runs.schedule_id, runs.number
from json_each($1) as wanted
cross join schedules on schedules.id = wanted.value
cross join runs on runs.schedule_id = schedules.id and runs.number < schedules.planned_count - $2
where runs.finished_at < $3
limit $4
