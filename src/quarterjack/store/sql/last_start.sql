select started_at
from runs
where schedule_id = $1 and started_at is not null
order by number desc
limit 1
