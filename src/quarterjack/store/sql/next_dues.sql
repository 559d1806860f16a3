-- The next instant at which there is something to plan, start, recover or notify of; null means never.
-- For the simulator, which runs the engine only at these instants.
select
    (select min(wake_at) from schedules where wake_at is not null),
    (select min(ready_at) from runs where state = 'queued'),
    (select min(lease_until) from runs where state = 'running'),
    (select at from outbox where sent_at is null order by id limit 1)
