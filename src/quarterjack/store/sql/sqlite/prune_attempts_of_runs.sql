delete from attempts
where (schedule_id, number, attempt) in (
    select attempts.schedule_id, attempts.number, attempts.attempt
    from json_each($1) as wanted
    join attempts
        on attempts.schedule_id = wanted.value ->> 0 and attempts.number = wanted.value ->> 1
    limit $2
)
returning 1
