select *
from runs
where schedule_id = $1 and ($2 is null or state = $2)
order by number desc
limit $3
