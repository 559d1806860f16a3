-- Newest first, by when they were planned.
select *
from runs
where cast($1 as text) is null or state = $1
order by planned_at desc, schedule_id desc, number desc
limit $2
