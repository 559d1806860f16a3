-- Runs that ended before an instant, from a position on, oldest first; an index-only scan.
select finished_at, schedule_id, number
from runs
where finished_at < $1 and (finished_at, schedule_id, number) > ($2, $3, $4)
order by finished_at, schedule_id, number
limit $5
