select *
from schedules
where id = any($1)
order by id
for update
