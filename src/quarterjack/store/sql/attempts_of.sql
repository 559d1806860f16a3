select *
from attempts
where schedule_id = $1 and number = $2
order by attempt
