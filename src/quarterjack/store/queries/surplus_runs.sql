-- Those beyond the number of runs that a schedule keeps: each schedule is looked at once.
select runs.*
from schedules
cross join runs on runs.schedule_id = schedules.id and runs.number < schedules.planned_count - $1
where
    schedules.planned_count > $1
    and schedules.id >= $2
    and (runs.schedule_id, runs.number) > ($2, $3)
order by schedules.id, runs.number
limit $4
