-- The time of the database; the heartbeat of this node, if it is registered; and when there is something to
-- plan, start or recover, in case a notification was lost.
with seen as (
    insert into nodes
    select
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
        (extract(epoch from clock_timestamp()) * 1000000)::bigint, $11, $12, $13
    where $1::text is not null
    on conflict (name) do update
    set seen_at = excluded.seen_at, ahead = excluded.ahead
)
select
    (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    least(
        (select min(wake_at) from schedules where sign(priority) = 1 and wake_at is not null),
        (select min(wake_at) from schedules where sign(priority) = 0 and wake_at is not null),
        (select min(wake_at) from schedules where sign(priority) = -1 and wake_at is not null)
    ),
    exists (select from runs where state = 'queued'),
    (select min(lease_until) from runs where state = 'running')
