-- The runs that ended before an instant, from a place on, oldest first; the index alone is read.
select finished_at, schedule_id, number
from runs
where finished_at < $1 and (finished_at, schedule_id, number) > ($2, $3, $4)
order by finished_at, schedule_id, number
limit $5
