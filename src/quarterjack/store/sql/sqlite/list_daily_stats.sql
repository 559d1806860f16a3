select daily_stats.*
from json_each($1) as wanted
join daily_stats on daily_stats.day = wanted.value and daily_stats.schedule_id = $2
