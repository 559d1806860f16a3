delete from gate_changes
where id in (
    select id
    from gate_changes
    where at < $1
    order by at, id
    limit $2
)
returning 1
