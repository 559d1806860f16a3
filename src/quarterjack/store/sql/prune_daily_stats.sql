delete from daily_stats
where (day, schedule_id) in (
    select day, schedule_id
    from daily_stats
    where day < $1 / 86400000000
    order by day, schedule_id
    limit $2
)
returning 1
