-- The declared schedules of an owner, the schedules that have one of these keys, and the deleted ones of the
-- owner that had one.
select *
from schedules
where deleted_at is null and owner = $1 and origin = 'declaration'
union
select *
from schedules
where deleted_at is null and key in (select value from json_each($2))
union
select *
from schedules
where
    deleted_at is not null
    and owner = $1 and origin = 'declaration'
    and key in (select value from json_each($2))
order by id
