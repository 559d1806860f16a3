-- A chunk is added once; adding it again changes nothing.
insert into output (schedule_id, number, attempt, sequence, at, data, position, marks)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict do nothing
