-- Gives the schedules of one declaration to another one.
update schedules
set owner = $1
where origin = 'declaration' and owner = $2 and deleted_at is null
returning id
