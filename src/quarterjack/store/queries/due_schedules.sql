-- What is due, oldest wake first.
select *
from schedules
where wake_at <= $1
order by wake_at, id
limit $2
