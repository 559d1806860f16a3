-- The row of a probe that has ended may be pruned; one that was never planned is wrong.
with probes as (
    select
        key,
        case when probe ~ '^[0-9]{1,18}-[0-9]{1,18}$' then split_part(probe, '-', 1)::bigint end as schedule_id,
        case when probe ~ '^[0-9]{1,18}-[0-9]{1,18}$' then split_part(probe, '-', 2)::bigint end as number
    from gates
    where probe is not null
)

select probes.key
from probes
left join schedules on schedules.id = probes.schedule_id
where schedules.id is null or probes.number >= schedules.planned_count
limit $1
