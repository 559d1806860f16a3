select *
from schedules
where deleted_at is null and id > $1
order by id
limit $2
