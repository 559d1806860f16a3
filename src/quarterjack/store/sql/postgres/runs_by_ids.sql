select runs.*
from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
join runs using (schedule_id, number)
