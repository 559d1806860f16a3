delete from events
where id in (
    select id
    from events
    where at < $1
    order by at, id
    limit $2
)
returning 1
