delete from events
where id in (
    select id
    from events
    where at < $1
    order by at
    limit $2
)
returning 1
