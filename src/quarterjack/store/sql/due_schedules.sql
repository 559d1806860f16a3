-- What is due, oldest wake first; but first what is urgent, and last what can wait.
select *
from (
    select *
    from schedules
    where sign(priority) = 1 and wake_at <= $1
    order by wake_at, id
    limit $2
)
union all
select *
from (
    select *
    from schedules
    where sign(priority) = 0 and wake_at <= $1
    order by wake_at, id
    limit $2
)
union all
select *
from (
    select *
    from schedules
    where sign(priority) = -1 and wake_at <= $1
    order by wake_at, id
    limit $2
)
limit $2
