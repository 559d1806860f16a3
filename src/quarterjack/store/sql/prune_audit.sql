delete from audit
where id in (
    select id
    from audit
    where at < $1
    order by at, id
    limit $2
)
returning 1
