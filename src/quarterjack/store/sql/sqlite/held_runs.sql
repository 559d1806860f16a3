-- The first one of each schedule.
select *
from runs
where state = 'held' and scope in (select value from json_each($1))
group by scope, schedule_id
having number = min(number)
