delete from passed
where (schedule_id, first) in (
    select schedule_id, first
    from passed
    where last < $1
    order by last
    limit $2
)
returning 1
