-- What time it is, which no other statement asks; and when there is something to do for those who plan,
-- work and rescue, should nobody have told them.
select
    (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    least(
        (select min(wake_at) from schedules where sign(priority) = 1 and wake_at is not null),
        (select min(wake_at) from schedules where sign(priority) = 0 and wake_at is not null),
        (select min(wake_at) from schedules where sign(priority) = -1 and wake_at is not null)
    ),
    exists (select from runs where state = 'queued'),
    (select min(lease_until) from runs where state = 'running')
