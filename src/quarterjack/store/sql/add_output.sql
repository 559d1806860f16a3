-- A chunk is added once; adding it again changes nothing.
insert into output
values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
