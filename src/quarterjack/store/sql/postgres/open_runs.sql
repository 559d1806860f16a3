-- Locked, for what is decided about them is written over them.
select *
from runs
where finished_at is null and scope = any($1)
order by schedule_id, number
for update
