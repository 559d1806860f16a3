-- Locked, because they are written by what is decided from them.
select *
from runs
where finished_at is null and scope = any($1)
order by schedule_id, number
for update
