-- Those of one owner, whoever has one of these keys, and what the owner had under them before.
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
