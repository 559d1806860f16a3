select s.schedule_id, s.version, s.body, s.service_preset
from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, version)
join specifications as s using (schedule_id, version)
