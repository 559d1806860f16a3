insert into progress (schedule_id, number, attempt, at, fraction, text, times_out_at)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (schedule_id, number, attempt) do update
set
    at = excluded.at,
    fraction = excluded.fraction,
    text = excluded.text,
    times_out_at = excluded.times_out_at
