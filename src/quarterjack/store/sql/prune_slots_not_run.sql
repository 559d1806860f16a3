delete from slots_not_run
where (schedule_id, first) in (
    select schedule_id, first
    from slots_not_run
    where last < $1
    order by last
    limit $2
)
returning 1
