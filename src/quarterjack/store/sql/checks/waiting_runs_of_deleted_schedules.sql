-- They would start without their schedule, or block other runs of their plugin.
select schedule_id || '-' || number
from runs
where
    finished_at is null
    and state in ('held', 'queued')
    and schedule_id in (select id from schedules where deleted_at is not null)
limit $1
