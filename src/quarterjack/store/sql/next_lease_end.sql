select min(lease_until)
from runs
where state = 'running' and lease_until > $1
