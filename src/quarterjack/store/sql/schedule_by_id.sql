select *
from schedules
where id = $1 and deleted_at is null
