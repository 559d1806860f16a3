insert into gates
values ($1, $2, $3, $4, $5, $6)
on conflict (key) do update
set
    state = excluded.state,
    failures = excluded.failures,
    until = excluded.until,
    reset_after = excluded.reset_after,
    probe = excluded.probe
