select key
from schedules
where deleted_at is null and key = any($1)
