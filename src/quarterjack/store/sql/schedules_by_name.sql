select *
from schedules
where name = $1 and deleted_at is null
order by id
limit 5
