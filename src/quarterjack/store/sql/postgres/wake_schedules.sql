-- Whoever has locked one of these may wait for a gate or a run that this transaction has locked, so it
-- must not be waited for here. Those that could not be locked are returned.
with locked as (
    select id
    from schedules
    where status = 'active' and deleted_at is null and id = any($2)
    order by id
    for update skip locked
), woken as (
    update schedules
    set wake_at = $1
    where id in (select id from locked)
)
select id
from schedules
where status = 'active' and deleted_at is null and id = any($2)
except
select id
from locked
