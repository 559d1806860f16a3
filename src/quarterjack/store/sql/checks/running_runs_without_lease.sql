-- They would never be recovered.
select schedule_id || '-' || number
from runs
where state = 'running' and (lease_until is null or worker is null or started_at is null)
limit $1
