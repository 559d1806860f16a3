-- Each run is counted twice: for its schedule, and for all schedules (0).
insert into daily_stats
select
    finished_at / 86400000000,
    case each when 'one' then schedule_id else 0 end,
    count(*) filter (where state = 'succeeded'),
    count(*) filter (where state = 'failed'),
    count(*) filter (where state = 'timed_out'),
    count(*) filter (where state = 'cancelled'),
    count(*) filter (where state = 'lost'),
    count(*) filter (where state = 'skipped'),
    count(started_at),
    coalesce(sum(finished_at - started_at), 0),
    coalesce(max(finished_at - started_at), 0),
    coalesce(sum(started_at - ready_at), 0),
    coalesce(max(started_at - ready_at), 0)
from unnest($1::bigint[], $2::bigint[]) as wanted (schedule_id, number)
join runs using (schedule_id, number)
cross join (values ('one'), ('all')) as counted (each)
group by 1, 2
on conflict (day, schedule_id) do update
set
    succeeded = daily_stats.succeeded + excluded.succeeded,
    failed = daily_stats.failed + excluded.failed,
    timed_out = daily_stats.timed_out + excluded.timed_out,
    cancelled = daily_stats.cancelled + excluded.cancelled,
    lost = daily_stats.lost + excluded.lost,
    skipped = daily_stats.skipped + excluded.skipped,
    started = daily_stats.started + excluded.started,
    duration_sum = daily_stats.duration_sum + excluded.duration_sum,
    duration_max = greatest(daily_stats.duration_max, excluded.duration_max),
    delay_sum = daily_stats.delay_sum + excluded.delay_sum,
    delay_max = greatest(daily_stats.delay_max, excluded.delay_max)
