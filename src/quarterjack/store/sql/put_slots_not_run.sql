insert into slots_not_run
values ($1, $2, $3, $4, $5)
on conflict (schedule_id, first) do update
set last = excluded.last, count = excluded.count, reason = excluded.reason
