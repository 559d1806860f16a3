select id, key, wake_at
from schedules
where wake_at <= $1
order by wake_at
limit $2
