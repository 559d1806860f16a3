select data
from output
where schedule_id = $1 and number = $2 and ($3 is null or attempt = $3)
order by attempt, sequence
