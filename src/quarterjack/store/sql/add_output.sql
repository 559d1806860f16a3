-- A chunk that was written before is the same one.
insert into output
values ($1, $2, $3, $4, $5, $6)
on conflict do nothing
