select id
from schedules
where deleted_at is not null and wake_at is not null
limit $1
