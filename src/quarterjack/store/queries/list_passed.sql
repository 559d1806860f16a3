select first, last, count, reason
from passed
where schedule_id = $1
order by first desc
limit $2
