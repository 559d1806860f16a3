select
    progress.schedule_id,
    progress.number,
    progress.attempt,
    progress.at,
    progress.fraction,
    progress.text,
    progress.times_out_at
from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
join progress using (schedule_id, number)
