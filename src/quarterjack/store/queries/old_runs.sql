select *
from runs
where finished_at < $1 and (finished_at, schedule_id, number) > ($2, $3, $4)
order by finished_at, schedule_id, number
limit $5
