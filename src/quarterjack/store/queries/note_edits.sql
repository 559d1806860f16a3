update schedules
set name = $1, priority = $2, updated_at = $3
where id = $4
