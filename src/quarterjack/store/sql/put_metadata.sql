insert into metadata
values ($1, $2)
on conflict (name) do update
set value = excluded.value
