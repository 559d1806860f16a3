-- Names that say what a table or a column holds.
alter table passed rename to slots_not_run;
drop index passed_by_age;
create index slots_not_run_by_age on slots_not_run (last);
alter table daily rename to daily_stats;
alter table facts rename to metadata;
alter table planning rename to planner_state;
alter table nodes rename column edition to revision;
alter table nodes add column capabilities text;
alter table schedules rename column passed to not_run;

update metadata set name = 'service_settings' where name = 'house_rules';
update metadata set name = 'daily_stats' where name = 'rolled_up';
update metadata set name = 'revisions' || substr(name, length('editions') + 1) where name like 'editions%';

-- `last_fired_at` held the last slot. Where `last_planned_at` is empty or earlier, an older program planned
-- that slot and did not write when.
drop view readable_schedules;
alter table schedules rename column last_fired_at to last_slot;
alter table schedules rename column last_planned_at to last_fired_at;
update schedules
set last_fired_at = last_slot
where last_slot is not null and coalesce(last_fired_at, 0) < last_slot;

create view readable_schedules as
select
    id,
    key,
    status,
    status_reason,
    strftime('%Y-%m-%d %H:%M:%fZ', next_slot / 1e6, 'unixepoch') as next_slot,
    strftime('%Y-%m-%d %H:%M:%fZ', last_fired_at / 1e6, 'unixepoch') as last_fired_at,
    strftime('%Y-%m-%d %H:%M:%fZ', last_success_at / 1e6, 'unixepoch') as last_success_at,
    planned_count,
    run_count,
    error_count,
    last_error,
    strftime('%Y-%m-%d %H:%M:%fZ', last_slot / 1e6, 'unixepoch') as last_slot
from schedules
where deleted_at is null;
