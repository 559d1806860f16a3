select runs.schedule_id || '-' || runs.number
from runs
left join specifications as s on s.schedule_id = runs.schedule_id and s.version = runs.version
where s.version is null
limit $1
