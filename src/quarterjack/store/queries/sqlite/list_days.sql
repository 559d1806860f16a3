select daily.*
from json_each($1) as wanted
join daily on daily.day = wanted.value and daily.schedule_id = $2
