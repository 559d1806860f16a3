-- The first one of each schedule.
select distinct on (scope, schedule_id) *
from runs
where state = 'held' and scope = any($1)
order by scope, schedule_id, number
