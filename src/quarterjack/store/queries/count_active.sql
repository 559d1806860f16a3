select count(*)
from schedules
where deleted_at is null and (status = 'active' or paused_until is not null)
