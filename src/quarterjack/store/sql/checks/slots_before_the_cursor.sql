-- They would be planned twice.
select id
from schedules
where deleted_at is null and next_slot <= cursor
limit $1
