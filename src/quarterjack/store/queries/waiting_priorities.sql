-- The priorities that anything of the queue has, the highest first: from each, the index leads to the
-- next one below it.
with recursive priorities (priority) as (
    select max(priority)
    from runs
    where state = 'queued' and queue = $1
    union all
    select (
        select max(below.priority)
        from runs as below
        where below.state = 'queued' and below.queue = $1 and below.priority < priorities.priority
    )
    from priorities
    where priorities.priority is not null
)

select priority
from priorities
where priority is not null
order by priority desc
