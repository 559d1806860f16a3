delete from progress
where (schedule_id, number, attempt) in (
    select progress.schedule_id, progress.number, progress.attempt
    from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
    join progress using (schedule_id, number)
    limit $3
)
returning 1
