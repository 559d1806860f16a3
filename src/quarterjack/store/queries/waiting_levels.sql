-- The priorities that anything of the queue has: from each, the index leads to the next one below it. And when the first of each is ready, and the first of those that are not ready yet.
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
    ),
    (
        select min(ready_at)
        from runs
        where
            state = 'queued'
            and queue = $1
            and runs.priority = levels.priority
            and ready_at > $2
    )
from levels
where priority is not null
