-- The next run would get a number that is taken.
select schedules.id
from schedules
where
    planned_count <= (
        select max(number)
        from runs
        where schedule_id = schedules.id
    )
limit $1
