select id, key, wake_at
from schedules
where sign(priority) in (1, 0, -1) and wake_at <= $1
order by wake_at, id
limit $2
