select *
from daily
where day = any($1) and schedule_id = $2
order by day
