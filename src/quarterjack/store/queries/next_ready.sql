select min(ready_at)
from runs
where state = 'queued' and queue = $1 and priority = $2
