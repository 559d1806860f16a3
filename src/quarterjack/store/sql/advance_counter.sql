-- Ids come from a counter, so that none is ever used again.
update counters
set value = value + $1
where name = $2
returning value
