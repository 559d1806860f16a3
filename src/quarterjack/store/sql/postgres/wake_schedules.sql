-- A locked schedule is skipped and returned: the transaction that has locked it may wait for a gate or run
-- that this one has locked, so waiting for it here could be a deadlock.
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
