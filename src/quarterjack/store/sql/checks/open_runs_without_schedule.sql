select schedule_id || '-' || number
from runs
where finished_at is null and schedule_id not in (select id from schedules)
limit $1
