-- The slots in ($2, $3] that a backfill leaves out: those with a run of another request that has
-- succeeded or is open.
select distinct slot
from runs
where
    schedule_id = $1
    and slot > $2
    and slot <= $3
    and request <> $4
    and state in ('succeeded', 'running', 'queued', 'held')
order by slot
limit $5
