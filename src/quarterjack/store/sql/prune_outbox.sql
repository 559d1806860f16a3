delete from outbox
where id in (
    select id
    from outbox
    where at < $1 and sent_at is not null
    order by at, id
    limit $2
)
returning 1
