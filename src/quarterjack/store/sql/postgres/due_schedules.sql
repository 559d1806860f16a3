-- What is due and nobody else decides, oldest wake first; but first what is urgent, and last what can
-- wait.
with urgent as (
    select *
    from schedules
    where sign(priority) = 1 and wake_at <= $1
    order by wake_at, id
    limit $2
    for update skip locked
),

usual as (
    select *
    from schedules
    where sign(priority) = 0 and wake_at <= $1
    order by wake_at, id
    limit $2
    for update skip locked
),

patient as (
    select *
    from schedules
    where sign(priority) = -1 and wake_at <= $1
    order by wake_at, id
    limit $2
    for update skip locked
)

select *
from urgent
union all
select *
from usual
union all
select *
from patient
limit $2
