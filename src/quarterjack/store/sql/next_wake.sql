select min(earliest)
from (
    select min(wake_at) as earliest
    from schedules
    where sign(priority) = 1 and wake_at is not null
    union all
    select min(wake_at)
    from schedules
    where sign(priority) = 0 and wake_at is not null
    union all
    select min(wake_at)
    from schedules
    where sign(priority) = -1 and wake_at is not null
) as wakes
