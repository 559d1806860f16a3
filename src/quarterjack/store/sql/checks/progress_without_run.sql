select progress.schedule_id || '-' || progress.number
from progress
left join runs on runs.schedule_id = progress.schedule_id and runs.number = progress.number
where runs.number is null
limit $1
