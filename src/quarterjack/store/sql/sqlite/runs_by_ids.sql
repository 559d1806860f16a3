select runs.*
from json_each($1) as wanted
join runs
    on runs.schedule_id = wanted.value ->> 0 and runs.number = wanted.value ->> 1
