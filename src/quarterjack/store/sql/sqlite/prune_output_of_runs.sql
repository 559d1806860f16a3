delete from output
where (schedule_id, number, attempt, sequence) in (
    select output.schedule_id, output.number, output.attempt, output.sequence
    from json_each($1) as wanted
    join output
        on output.schedule_id = wanted.value ->> 0 and output.number = wanted.value ->> 1
    limit $2
)
returning 1
