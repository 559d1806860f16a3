-- Of one attempt or of all, after a chunk of one.
select schedule_id, number, attempt, sequence, at, data, position, marks
from output
where
    schedule_id = $1
    and number = $2
    and (cast($3 as bigint) is null or attempt = $3)
    and (attempt, sequence) > ($4, $5)
order by attempt, sequence
