select *
from runs
where state = 'running' and lease_until <= $1
order by lease_until
limit $2
