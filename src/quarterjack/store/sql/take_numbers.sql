-- A counter, so that no number is ever given twice.
update counters
set value = value + $1
where name = $2
returning value
