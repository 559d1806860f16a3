-- A probe that ended long ago may be forgotten; one that was never planned is wrong.
select gates.key
from gates
left join schedules on schedules.id = split_part(gates.probe, '-', 1)::bigint
where
    gates.probe is not null
    and (
        schedules.id is null
        or split_part(gates.probe, '-', 2)::bigint >= schedules.planned_count
    )
limit $1
