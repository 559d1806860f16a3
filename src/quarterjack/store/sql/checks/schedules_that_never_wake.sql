select id
from schedules
where deleted_at is null and status = 'active' and next_slot is not null and wake_at is null
limit $1
