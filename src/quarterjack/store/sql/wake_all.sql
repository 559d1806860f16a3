-- Wakes every active schedule, whose slots are then computed again.
update schedules
set wake_at = $1
where status = 'active' and sign(priority) in (1, 0, -1) and wake_at > $1
