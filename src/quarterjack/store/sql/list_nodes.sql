select *
from nodes
order by started_at, name
