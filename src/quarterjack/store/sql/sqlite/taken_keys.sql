select key
from schedules
where deleted_at is null and key in (select value from json_each($1))
