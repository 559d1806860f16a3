select
    progress.schedule_id,
    progress.number,
    progress.attempt,
    progress.at,
    progress.fraction,
    progress.text,
    progress.times_out_at
from json_each($1) as wanted
join progress
    on progress.schedule_id = wanted.value ->> 0 and progress.number = wanted.value ->> 1
