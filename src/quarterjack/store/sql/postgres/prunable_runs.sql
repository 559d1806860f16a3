-- What the retention rules need to know of a run.
select
    runs.schedule_id,
    runs.number,
    runs.finished_at,
    schedules.planned_count,
    schedules.last_run_id,
    schedules.last_success_run_id
from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
join runs using (schedule_id, number)
left join schedules on schedules.id = runs.schedule_id
