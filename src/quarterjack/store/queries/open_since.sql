select coalesce(started_at, ready_at)
from runs
where schedule_id = $1 and finished_at is null and kind = 'slot'
order by number desc
limit 1
