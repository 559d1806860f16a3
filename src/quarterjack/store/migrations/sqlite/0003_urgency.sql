-- The urgent are planned before a crowd that came due earlier: the index of wakes is by the sign of
-- the priority first.

alter table schedules add column priority integer not null default 0;

update schedules
set priority = coalesce(
    (
        select body ->> 'priority'
        from specifications as said
        where said.schedule_id = schedules.id and said.version = schedules.version
    ),
    0
);

drop index schedules_by_wake;
create index schedules_by_wake on schedules (sign(priority), wake_at) where wake_at is not null;
