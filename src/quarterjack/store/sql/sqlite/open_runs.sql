select *
from runs
where finished_at is null and scope in (select value from json_each($1))
order by schedule_id, number
