-- Those that do not run any more, though nobody asked for that.
select id, key, status
from schedules
where deleted_at is null and status in ('invalid', 'dead')
order by id
limit $1
