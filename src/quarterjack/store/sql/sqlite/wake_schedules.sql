update schedules
set wake_at = $1
where
    status = 'active'
    and deleted_at is null
    and id in (select value from json_each($2))
