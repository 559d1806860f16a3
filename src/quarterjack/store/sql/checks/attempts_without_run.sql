select attempts.schedule_id || '-' || attempts.number
from attempts
left join runs on runs.schedule_id = attempts.schedule_id and runs.number = attempts.number
where runs.number is null
limit $1
