select key
from schedules not indexed
where deleted_at is null
group by key
having count(*) > 1
limit $1
