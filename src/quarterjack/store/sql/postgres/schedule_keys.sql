select id, key
from schedules
where id = any($1)
