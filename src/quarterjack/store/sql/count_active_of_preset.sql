-- Up to a limit: more do not matter.
select count(*)
from (
    select 1
    from schedules
    where preset = $1 and deleted_at is null and (status = 'active' or paused_until is not null)
    limit $2
) as counted
