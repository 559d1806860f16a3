-- The row stays for its history; its key may be used again.
update schedules
set deleted_at = $1, next_slot = null, wake_at = null
where id = $2
