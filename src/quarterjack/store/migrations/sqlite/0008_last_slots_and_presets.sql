-- When the last slot was planned. Which slot that was stays in `last_fired_at`: nodes of the older
-- program read and write it there while they run beside newer ones.
alter table schedules add column last_planned_at integer;

update schedules
set last_planned_at = (
    select planned_at
    from runs
    where schedule_id = id and slot = last_fired_at and request = 0
)
where last_fired_at is not null;

drop view readable_schedules;
create view readable_schedules as
select
    id,
    key,
    status,
    status_reason,
    strftime('%Y-%m-%d %H:%M:%fZ', next_slot / 1e6, 'unixepoch') as next_slot,
    strftime(
        '%Y-%m-%d %H:%M:%fZ',
        max(last_fired_at, coalesce(last_planned_at, last_fired_at)) / 1e6,
        'unixepoch'
    ) as last_fired_at,
    strftime('%Y-%m-%d %H:%M:%fZ', last_success_at / 1e6, 'unixepoch') as last_success_at,
    planned_count,
    run_count,
    error_count,
    last_error,
    strftime('%Y-%m-%d %H:%M:%fZ', last_fired_at / 1e6, 'unixepoch') as last_slot
from schedules
where deleted_at is null;

-- By whose defaults a schedule was read, so that those of `agent` can be counted among themselves.
-- What was stored does not say it where it differs from what the kind of the target brings with it.
alter table schedules add column preset text;

-- A body that cannot be read makes its own schedule invalid, and no upgrade fail.
update schedules
set preset = 'agent'
where (id, version) in (
    select schedule_id, version
    from specifications
    where case when json_valid(body) then body ->> 'prompt' is not null end
);

create index schedules_by_preset on schedules (preset)
where preset is not null and deleted_at is null;

-- The number of the repeat that a run is for, as it was when the run was planned.
alter table runs add column repeat integer not null default 0;

update runs
set repeat = coalesce(
    (select current_repeat from schedules where id = schedule_id), 0
)
where finished_at is null;

-- The budgets that hold among the schedules of the preset `agent`.
alter table planning add column agents text;

-- The preset of the service, by whose defaults a definition was read if it says none itself. It is not in
-- the body, for nodes of the older program refuse fields that they do not know.
alter table specifications add column service_preset text;

-- Which process a node is, so that its host can be asked whether it still runs. Where it is empty, a node
-- of the older program wrote the row.
alter table nodes add column process text not null default '';
