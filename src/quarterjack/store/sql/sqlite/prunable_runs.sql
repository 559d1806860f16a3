-- What the retention rules need to know of a run.
select
    runs.schedule_id,
    runs.number,
    runs.finished_at,
    schedules.planned_count,
    schedules.last_run_id,
    schedules.last_success_run_id
from json_each($1) as wanted
join runs
    on runs.schedule_id = wanted.value ->> 0 and runs.number = wanted.value ->> 1
left join schedules on schedules.id = runs.schedule_id
