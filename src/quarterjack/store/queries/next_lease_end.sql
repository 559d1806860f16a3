select min(lease_until)
from runs
where state = 'running'
