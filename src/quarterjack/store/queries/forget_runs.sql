delete from runs
where schedule_id = $1 and number = $2
