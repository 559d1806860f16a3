-- They would start although their schedule is gone, or keep others of their plugin waiting.
select schedule_id || '-' || number
from runs
where
    finished_at is null
    and state in ('held', 'queued')
    and schedule_id in (select id from schedules where deleted_at is not null)
limit $1
