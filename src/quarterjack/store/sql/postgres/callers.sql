-- What a worker needs to know of the schedules that it acts for.
select id, key, last_success_at, owner
from schedules
where id = any($1)
