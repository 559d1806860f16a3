select schedules.id
from schedules
left join specifications as s on s.schedule_id = schedules.id and s.version = schedules.version
where schedules.deleted_at is null and s.version is null
limit $1
