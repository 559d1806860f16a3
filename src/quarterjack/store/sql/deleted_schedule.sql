-- The last deleted one with this id or key.
select *
from schedules
where deleted_at is not null and (key = $1 or cast(id as text) = $1)
order by deleted_at desc
limit 1
