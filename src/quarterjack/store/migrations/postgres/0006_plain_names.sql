-- Names that say what a table or a column holds.
alter table passed rename to slots_not_run;
alter index passed_by_age rename to slots_not_run_by_age;
alter index passed_pkey rename to slots_not_run_pkey;
alter table daily rename to daily_stats;
alter index daily_pkey rename to daily_stats_pkey;
alter table facts rename to metadata;
alter index facts_pkey rename to metadata_pkey;
alter table planning rename to planner_state;
alter index planning_pkey rename to planner_state_pkey;
alter table nodes rename column edition to revision;
alter table nodes add column capabilities text;
alter table schedules rename column passed to not_run;

update metadata set name = 'service_settings' where name = 'house_rules';
update metadata set name = 'daily_stats' where name = 'rolled_up';
update metadata set name = 'revisions' || substr(name, length('editions') + 1) where name like 'editions%';

-- `last_fired_at` held the last slot. Where `last_planned_at` is empty or earlier, an older program planned
-- that slot and did not write when.
alter table schedules rename column last_fired_at to last_slot;
alter table schedules rename column last_planned_at to last_fired_at;
update schedules
set last_fired_at = last_slot
where last_slot is not null and coalesce(last_fired_at, 0) < last_slot;

create or replace view readable_schedules as
select
    id,
    key,
    status,
    status_reason,
    to_timestamp(next_slot / 1e6) as next_slot,
    to_timestamp(last_fired_at / 1e6) as last_fired_at,
    to_timestamp(last_success_at / 1e6) as last_success_at,
    planned_count,
    run_count,
    error_count,
    last_error,
    to_timestamp(last_slot / 1e6) as last_slot
from schedules
where deleted_at is null;
