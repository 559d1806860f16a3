delete from output
where (schedule_id, number, attempt, sequence) in (
    select schedule_id, number, attempt, sequence
    from output
    where at < $1
    order by at, schedule_id, number, attempt, sequence
    limit $2
)
returning 1
