select distinct output.schedule_id || '-' || output.number
from output
left join runs on runs.schedule_id = output.schedule_id and runs.number = output.number
where runs.number is null
limit $1
