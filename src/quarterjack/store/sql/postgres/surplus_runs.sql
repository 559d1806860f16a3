-- The runs of these schedules beyond the number that is kept.
select runs.schedule_id, runs.number
from schedules
join runs on runs.schedule_id = schedules.id and runs.number < schedules.planned_count - $2
where schedules.id = any($1) and runs.finished_at < $3
limit $4
