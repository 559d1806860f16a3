-- When there is something to do for whoever plans, works, rescues or tells; null is never. For a
-- simulation, which asks before it lets them look.
select
    (select min(wake_at) from schedules where wake_at is not null),
    (select min(ready_at) from runs where state = 'queued'),
    (select min(lease_until) from runs where state = 'running'),
    (select at from outbox where sent_at is null order by id limit 1)
