select *
from daily_stats
where day = any($1) and schedule_id = $2
order by day
