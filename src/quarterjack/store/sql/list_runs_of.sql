select *
from runs
where schedule_id = $1 and (cast($2 as text) is null or state = $2)
order by number desc
limit $3
