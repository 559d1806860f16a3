-- Due schedules that no other planner has locked, ordered by wake time, but first by sign of priority. One
-- part per sign, because each is read from the index on (sign(priority), wake_at).
with high as (
    select *
    from schedules
    where sign(priority) = 1 and wake_at <= $1
    order by wake_at, id
    limit $2
    for update skip locked
),

normal as (
    select *
    from schedules
    where sign(priority) = 0 and wake_at <= $1
    order by wake_at, id
    limit $2
    for update skip locked
),

low as (
    select *
    from schedules
    where sign(priority) = -1 and wake_at <= $1
    order by wake_at, id
    limit $2
    for update skip locked
)

select *
from high
union all
select *
from normal
union all
select *
from low
limit $2
