-- Concatenated, so that the unique index, which may be corrupt, is not used.
select key || '' as key
from schedules
where deleted_at is null
group by key || ''
having count(*) > 1
limit $1
