select *
from schedules
where key = $1 and deleted_at is null
