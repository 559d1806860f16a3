delete from output
where (schedule_id, number, attempt, sequence) in (
    select output.schedule_id, output.number, output.attempt, output.sequence
    from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
    join output using (schedule_id, number)
    limit $3
)
returning 1
