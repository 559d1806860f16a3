delete from progress
where (schedule_id, number, attempt) in (
    select progress.schedule_id, progress.number, progress.attempt
    from json_each($1) as wanted
    join progress
        on progress.schedule_id = wanted.value ->> 0 and progress.number = wanted.value ->> 1
    limit $2
)
returning 1
