-- Due schedules, ordered by wake time, but first by sign of priority. One part per sign, because each is read
-- from the index on (sign(priority), wake_at).
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
