-- When the last slot was planned. Which slot that was stays in `last_fired_at`: nodes of the older
-- program read and write it there while they run beside newer ones.
alter table schedules add column last_planned_at bigint;

update schedules
set last_planned_at = (
    select planned_at
    from runs
    where schedule_id = id and slot = last_fired_at and request = 0
)
where last_fired_at is not null;

create or replace view readable_schedules as
select
    id,
    key,
    status,
    status_reason,
    to_timestamp(next_slot / 1e6) as next_slot,
    to_timestamp(greatest(last_fired_at, last_planned_at) / 1e6) as last_fired_at,
    to_timestamp(last_success_at / 1e6) as last_success_at,
    planned_count,
    run_count,
    error_count,
    last_error,
    to_timestamp(last_fired_at / 1e6) as last_slot
from schedules
where deleted_at is null;

-- By whose defaults a schedule was read, so that those of `agent` can be counted among themselves.
-- What was stored does not say it where it differs from what the kind of the target brings with it.
alter table schedules add column preset text;

-- A body that cannot be read makes its own schedule invalid, and no upgrade fail.
create function has_prompt(body text) returns boolean language plpgsql as $$
begin
    return body::jsonb ->> 'prompt' is not null;
exception
    when data_exception or program_limit_exceeded then
        return false;
end
$$;

update schedules
set preset = 'agent'
where (id, version) in (
    select schedule_id, version
    from specifications
    where body like '%"prompt"%' and has_prompt(body)
);

drop function has_prompt;

create index schedules_by_preset on schedules (preset)
where preset is not null and deleted_at is null;

-- The number of the repeat that a run is for, as it was when the run was planned.
alter table runs add column repeat bigint not null default 0;

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
