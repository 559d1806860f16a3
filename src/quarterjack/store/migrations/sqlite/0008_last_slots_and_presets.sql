-- `last_fired_at` said the slot that was planned last; now that is `last_slot`, and it says when.
alter table schedules add column last_slot integer;

update schedules
set
    last_slot = last_fired_at,
    last_fired_at = coalesce(
        (
            select planned_at
            from runs
            where schedule_id = id and slot = last_fired_at and request = 0
        ),
        last_fired_at
    )
where last_fired_at is not null;

-- By whose defaults a schedule was read, so that those of `agent` can be counted among themselves.
-- What was stored does not say it where it differs from what the kind of the target brings with it.
alter table schedules add column preset text;

update schedules
set preset = 'agent'
where (id, version) in (
    select schedule_id, version
    from specifications
    where body ->> 'prompt' is not null
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
