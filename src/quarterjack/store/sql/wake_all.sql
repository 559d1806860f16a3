-- Each active schedule is looked at again, and so finds its slots anew.
update schedules
set wake_at = $1
where status = 'active' and sign(priority) in (1, 0, -1) and wake_at > $1
