-- Not in the order of the index that should have kept them apart.
select key || '' as key
from schedules
where deleted_at is null
group by key || ''
having count(*) > 1
limit $1
