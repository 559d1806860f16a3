-- Those of one owner, whoever has one of these keys, and what the owner had under them before.
select *
from schedules
where id in (
    select id
    from schedules
    where deleted_at is null and owner = $1 and origin = 'declaration'
    union
    select id
    from schedules
    where deleted_at is null and key = any($2)
    union
    select id
    from schedules
    where deleted_at is not null and owner = $1 and origin = 'declaration' and key = any($2)
)
order by id
for update
