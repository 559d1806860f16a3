select *
from audit
where schedule_id = $1 and id < $2
order by id desc
limit $3
