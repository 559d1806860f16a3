select s.schedule_id, s.version, s.body, s.service_preset
from json_each($1) as wanted
join specifications as s
    on s.schedule_id = wanted.value ->> 0 and s.version = wanted.value ->> 1
