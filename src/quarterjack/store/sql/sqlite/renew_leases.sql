update runs
set lease_until = $1
where
    state = 'running'
    and worker = $2
    and (schedule_id, number, attempt) in (
        select value ->> 0, value ->> 1, value ->> 2
        from json_each($3)
    )
returning schedule_id, number, attempt, cancel
