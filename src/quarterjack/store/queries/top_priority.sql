-- The highest priority below this one that anything of the queue has.
select max(priority)
from runs
where state = 'queued' and queue = $1 and priority < $2
