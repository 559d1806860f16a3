-- The priorities of the queued runs of a queue, and when the first of each is ready. A loose index scan: from
-- each priority, the index leads to the next lower one.
with recursive levels (priority) as (
    select max(priority)
    from runs
    where state = 'queued' and queue = $1
    union all
    select (
        select max(below.priority)
        from runs as below
        where below.state = 'queued' and below.queue = $1 and below.priority < levels.priority
    )
    from levels
    where levels.priority is not null
)

select
    priority,
    (
        select min(ready_at)
        from runs
        where state = 'queued' and queue = $1 and runs.priority = levels.priority
    )
from levels
where priority is not null
