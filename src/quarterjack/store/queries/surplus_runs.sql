-- Those beyond the number of runs that a schedule keeps.
select runs.*
from schedules
join runs on runs.schedule_id = schedules.id and runs.number < schedules.planned_count - $1
where (runs.schedule_id, runs.number) > ($2, $3) and schedules.id >= $2
order by runs.schedule_id, runs.number
limit $4
