-- They do not run any more, though nobody has paused them.
select id, key, status
from schedules
where deleted_at is null and status in ('invalid', 'dead')
order by id
limit $1
