select first, last, count, reason
from slots_not_run
where schedule_id = $1
order by first desc
limit $2
