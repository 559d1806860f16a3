update schedules
set name = $1, priority = $2, preset = $3, updated_at = $4
where id = $5
