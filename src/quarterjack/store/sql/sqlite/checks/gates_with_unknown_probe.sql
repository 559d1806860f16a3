-- The row of a probe that has ended may be pruned; one that was never planned is wrong.
select gates.key
from gates
left join schedules
    on schedules.id = cast(substr(gates.probe, 1, instr(gates.probe, '-') - 1) as integer)
where
    gates.probe is not null
    and (
        schedules.id is null
        or cast(substr(gates.probe, instr(gates.probe, '-') + 1) as integer)
        >= schedules.planned_count
    )
limit $1
