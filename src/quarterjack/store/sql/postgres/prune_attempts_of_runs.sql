delete from attempts
where (schedule_id, number, attempt) in (
    select attempts.schedule_id, attempts.number, attempts.attempt
    from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
    join attempts using (schedule_id, number)
    limit $3
)
returning 1
