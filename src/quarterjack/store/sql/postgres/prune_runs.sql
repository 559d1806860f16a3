delete from runs
using unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
where runs.schedule_id = wanted.schedule_id and runs.number = wanted.number
