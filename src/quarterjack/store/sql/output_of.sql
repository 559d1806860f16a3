select data
from output
where schedule_id = $1 and number = $2 and (cast($3 as bigint) is null or attempt = $3)
order by attempt, sequence
