delete from runs
where (schedule_id, number) in (
    select value ->> 0, value ->> 1
    from json_each($1)
)
